// Package pack brings skills in and out: it unpacks archives that others made,
// installs skills, and packs a skill into an archive.
//
// An archive is not trusted. What it holds is counted while it is unpacked,
// never believed from its headers; it is refused as a whole when one entry would
// leave its folder, is a link or a device, occurs twice, or when it holds
// more than its limits. It is unpacked into a new folder beside the place where
// it is to be, and moved there in one step, so that a failure leaves nothing.
package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcpbroker/mcpbroker/skills"
)

// An Error says why an archive or a skill is refused.
type Error struct {
	// Code is one of archive_bad_extension, archive_bad_format,
	// archive_encrypted, archive_path_escape, archive_symlink,
	// archive_bad_entry, archive_duplicate_entry, archive_too_large,
	// archive_too_many_files, archive_no_skill_md, archive_multiple_skills,
	// invalid_skill, name_mismatch, already_exists, not_found.
	Code    string
	Message string
	// Diagnostics are set for invalid_skill.
	Diagnostics []skills.Diagnostic
}

func (e *Error) Error() string { return e.Message }

func refuse(code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Limits bound what is unpacked. The zero value means those of a skill.
type Limits struct {
	Files int   // files; 0 means skills.MaxFiles
	Bytes int64 // of all files; 0 means skills.MaxTotalBytes
}

func (l Limits) orDefault() Limits {
	if l.Files == 0 {
		l.Files = skills.MaxFiles
	}
	if l.Bytes == 0 {
		l.Bytes = skills.MaxTotalBytes
	}
	return l
}

// Options say what may be installed.
type Options struct {
	// Name is the one that it has to have: whoever asks for a skill by its name
	// gets no other one, in the place of yet another. Empty takes any.
	Name string
	// Force replaces one of that name.
	Force bool
}

// An Installed is a skill that was installed.
type Installed struct {
	Name string `json:"name"`
	// Path is the skill's folder.
	Path string `json:"path"`
	// Files are relative to it, sorted.
	Files []string `json:"files"`
	// Replaced means that a skill of that name was there before.
	Replaced bool `json:"replaced"`
}

// Install installs the skill in an archive or a folder into a folder below
// dest that has the skill's name. The skill has to pass the rules of
// skills.Install; its name counts, not that of the archive. One that is there
// already is only replaced by force. An error is an *Error if the source is at
// fault, and nothing has changed then; after another one, the skill may be
// installed with parts of the old one left beside it.
func Install(dest, source string, o Options) (*Installed, error) {
	return InstallAs(dest, source, skills.FileName, Limits{}, o, func(root *os.Root) (string, error) {
		doc := skills.Read(root, "")
		return doc.Name, valid(doc)
	})
}

// InstallAs is Install for what is made by another file than SKILL.md, under
// the name that the function finds in the unpacked folder.
func InstallAs(dest, source, mark string, limits Limits, o Options, name func(*os.Root) (string, error)) (*Installed, error) {
	tmp, err := newTemp(dest)
	if err != nil {
		return nil, err
	}
	defer tmp.remove()
	dir, err := Fill(tmp.root, source, mark, limits)
	if err != nil {
		return nil, err
	}
	inner, err := tmp.root.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	called, err := name(inner)
	files := listFiles(inner)
	if err := errors.Join(err, inner.Close()); err != nil {
		return nil, err
	}
	if o.Name != "" && called != o.Name {
		return nil, refuse("name_mismatch", "what is offered as %.80q calls itself %.80q: it is not installed, because it could take the place of another one; if it is meant, fetch it yourself and install the file", o.Name, called)
	}
	replaced, err := tmp.publish(dir, called, o.Force)
	if err != nil {
		return nil, err
	}
	return &Installed{called, filepath.Join(dest, called), files, replaced}, nil
}

// valid refuses a skill that the rules of skills.Install refuse.
func valid(doc *skills.Doc) error {
	ok, list := doc.Judge(skills.Install)
	if ok {
		return nil
	}
	e := &Error{Code: "invalid_skill", Diagnostics: list}
	for _, d := range slices.Backward(list) {
		if d.Severity == skills.Error {
			e.Message = "the skill is not valid: " + d.Message + " [" + d.Code + "]"
		}
	}
	return e
}

// Fill puts what source holds into root: a folder is copied, an archive is
// unpacked. mark is a file, with slashes, that has to be in it: at its top or in
// the one folder that everything else is in; empty means none. The answer is the
// folder of root that holds mark, "." or the name of that wrapper.
func Fill(root *os.Root, source, mark string, limits Limits) (dir string, err error) {
	w := &writer{root: root, limits: limits.orDefault(), taken: map[string]bool{}}
	info, err := os.Stat(source)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // below a file
		return "", refuse("not_found", "there is no %s", source)
	case err != nil:
		return "", err
	case info.IsDir():
		err = w.copyFolder(source)
	default:
		err = w.unpack(source, info.Size())
	}
	if err != nil {
		return "", err
	}
	return wrapper(root, mark)
}

// wrapper finds the folder that holds mark.
func wrapper(root *os.Root, mark string) (string, error) {
	if mark == "" || hasMark(root, ".", mark) {
		return ".", nil
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() && hasMark(root, e.Name(), mark) {
			found = append(found, e.Name())
		}
	}
	switch {
	case len(found) == 0:
		return "", refuse("archive_no_skill_md", "there is no %s in it, neither at its top nor in one folder", mark)
	case len(found) > 1:
		return "", refuse("archive_multiple_skills", "it holds more than one: %s; give them one by one", strings.Join(found, ", "))
	case len(entries) > 1:
		return "", refuse("archive_bad_entry", "other things stand beside the folder %s: put everything into it", found[0])
	}
	return found[0], nil
}

func hasMark(root *os.Root, dir, mark string) bool {
	for _, name := range []string{mark, strings.ToLower(mark)} {
		if info, err := root.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

func listFiles(root *os.Root) []string {
	var files []string
	// What was written just now can be read.
	_ = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, name)
		}
		return err
	})
	return files
}

// A temp is a new folder below another one, where nobody looks for skills.
type temp struct {
	dest *os.Root // where the result is to be
	root *os.Root
	name string
}

// staleAfter is how old a folder has to be that a killed installation left.
const staleAfter = time.Hour

func newTemp(dest string) (*temp, error) {
	if err := os.MkdirAll(dest, 0o755); err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	path, err := os.MkdirTemp(dest, skills.TempPrefix)
	if err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	t := &temp{name: filepath.Base(path)}
	if t.dest, err = os.OpenRoot(dest); err == nil {
		t.root, err = t.dest.OpenRoot(t.name)
	}
	if err != nil {
		t.remove()
		return nil, fmt.Errorf("install: %w", err)
	}
	t.sweep()
	return t, nil
}

// sweep removes what installations left that were killed.
func (t *temp) sweep() {
	entries, err := fs.ReadDir(t.dest.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && strings.HasPrefix(e.Name(), skills.TempPrefix) && time.Since(info.ModTime()) > staleAfter {
			_ = t.dest.RemoveAll(e.Name()) // the next one tries again
		}
	}
}

func (t *temp) remove() {
	if t.root != nil {
		t.root.Close()
	}
	if t.dest != nil {
		_ = t.dest.RemoveAll(t.name) // sweep removes what stays
		t.dest.Close()
	}
}

// publish moves a folder of the temporary one to its place.
func (t *temp) publish(dir, name string, force bool) (replaced bool, err error) {
	if name == "" || name != filepath.Base(name) || !filepath.IsLocal(name) {
		return false, refuse("invalid_skill", "%q cannot be the name of a folder here", name)
	}
	// A folder that is open cannot be moved on Windows.
	if err := t.root.Close(); err != nil {
		return false, err
	}
	t.root = nil
	from := filepath.Join(t.name, dir)
	if err := t.dest.Chmod(from, 0o755); err != nil { // temporary folders are private
		return false, err
	}
	if _, err := t.dest.Lstat(name); err == nil {
		if !force {
			return false, refuse("already_exists", "there is %s already: --force replaces it", name)
		}
		return true, t.swap(from, name)
	}
	if err := t.dest.Rename(from, name); err != nil {
		if _, there := t.dest.Lstat(name); there == nil {
			return false, refuse("already_exists", "there is %s already: --force replaces it", name)
		}
		return false, fmt.Errorf("install %s: %w", name, err)
	}
	return false, nil
}

// swap puts a folder in the place of another one, or leaves that as it was.
func (t *temp) swap(from, name string) error {
	old := t.name + "-old"
	if err := t.dest.Rename(name, old); err != nil {
		return fmt.Errorf("install %s: %w", name, err)
	}
	if err := t.dest.Rename(from, name); err != nil {
		return errors.Join(fmt.Errorf("install %s: %w", name, err), t.dest.Rename(old, name))
	}
	if err := t.dest.RemoveAll(old); err != nil {
		return fmt.Errorf("install %s: it is installed, but the old one cannot be removed: %w", name, err)
	}
	return nil
}

// Remove removes the installed skill or plugin of that name from dest.
func Remove(dest, name string) error {
	root, err := os.OpenRoot(dest)
	if err != nil {
		return refuse("not_found", "nothing is installed in %s", dest)
	}
	defer root.Close()
	if info, err := root.Lstat(name); name == "." || name != filepath.Base(name) || err != nil || !info.IsDir() {
		return refuse("not_found", "%q is not installed in %s", name, dest)
	}
	// Out of sight first, so that it is never seen half removed.
	gone := fmt.Sprintf("%s%d-gone", skills.TempPrefix, time.Now().UnixNano())
	if err := root.Rename(name, gone); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	if err := root.RemoveAll(gone); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}
