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
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

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
	// Strict refuses a skill that breaks the standard, instead of only one that would
	// not load.
	Strict bool
	// Within is a folder that contains the source: links of the source are followed if
	// they stay inside it. Empty means the source.
	Within string
	// Anonymous is set if the name of the source is arbitrary, so that a skill or
	// plugin without a name does not get it.
	Anonymous bool
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
	// Diagnostics are the warnings about the skill, as in the catalogue.
	Diagnostics []skills.Diagnostic `json:"diagnostics,omitempty"`
	// Notes name the links that were left out.
	Notes []string `json:"notes,omitempty"`
}

// Install installs the skill in an archive or a folder into a folder below dest with
// the skill's name, adapted to the rules for folder names. A skill without a name gets
// that of the source. The skill must load; the result contains the warnings about it.
// Install replaces an existing skill only if force is set. If the source is at fault,
// the error is an *Error and nothing has changed; after another error, the skill may be
// installed with parts of the old one beside it.
func Install(dest, source string, o Options) (*Installed, error) {
	var warnings []skills.Diagnostic
	got, err := InstallAs(dest, source, isSkill, Limits{}, o, func(root *os.Root, folder string) (string, error) {
		doc := skills.ReadFolder(root, "")
		if doc.Name == "" {
			doc = skills.ReadFolder(root, cmp.Or(o.Name, folder))
		}
		var err error
		warnings, err = valid(doc, o.Strict)
		return doc.Name, err
	})
	if err == nil {
		got.Diagnostics = warnings
	}
	return got, err
}

// A Mark describes the required content of a folder to install.
type Mark struct {
	// Name is a file with this content, for messages.
	Name string
	// In reports whether a folder qualifies; nil means that every folder does.
	In func(root *os.Root, dir string) bool
}

var isSkill = Mark{skills.FileName, func(root *os.Root, dir string) bool {
	for _, name := range []string{skills.FileName, strings.ToLower(skills.FileName)} {
		if info, err := root.Lstat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}}

// InstallAs is Install for content with another mark than SKILL.md, under the name that
// the function returns for the unpacked folder. folder is the name of the source, or
// empty.
func InstallAs(dest, source string, mark Mark, limits Limits, o Options, name func(root *os.Root, folder string) (string, error)) (*Installed, error) {
	tmp, err := newTemp(dest)
	if err != nil {
		return nil, err
	}
	defer tmp.remove()
	dir, notes, err := fill(tmp.root, source, mark, limits, o.Within)
	if err != nil {
		return nil, err
	}
	inner, err := tmp.root.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	called, err := name(inner, sourceName(source, dir, o.Anonymous))
	files := listFiles(inner)
	if err := errors.Join(err, inner.Close()); err != nil {
		return nil, err
	}
	if o.Name != "" && called != o.Name {
		return nil, refuse("name_mismatch", "what is offered as %.80q calls itself %.80q: it is not installed, because it could take the place of another one; if it is meant, fetch it yourself and install the file", o.Name, called)
	}
	folder := folderOf(called)
	replaced, err := tmp.publish(dir, folder, o.Force)
	if err != nil {
		return nil, err
	}
	return &Installed{Name: called, Path: filepath.Join(dest, folder), Files: files, Replaced: replaced, Notes: notes}, nil
}

// sourceName returns the name of a source without its extension, or of the only folder
// in it.
func sourceName(source, dir string, anonymous bool) string {
	if dir != "." {
		return dir
	}
	if anonymous {
		return ""
	}
	if abs, err := filepath.Abs(source); err == nil {
		source = abs
	}
	name := filepath.Base(source)
	for _, end := range Extensions {
		if cut := len(name) - len(end); cut > 0 && strings.EqualFold(name[cut:], end) {
			return name[:cut]
		}
	}
	return name
}

// maxFolderBytes bounds the name of an installed folder.
const maxFolderBytes = 120

// folderOf returns a name that a folder can have on every system: it replaces each run
// of other characters by a hyphen.
func folderOf(name string) string {
	var b strings.Builder
	hyphen := false
	for _, r := range name {
		if bad := strings.ContainsRune(`<>:"/\|?*`, r) || unicode.IsControl(r) || r == utf8.RuneError; bad || b.Len() > maxFolderBytes {
			hyphen = true
			continue
		}
		if hyphen && b.Len() > 0 {
			b.WriteByte('-')
		}
		hyphen = false
		b.WriteRune(r)
	}
	folder := strings.Trim(b.String(), "-. ")
	if folder == "node_modules" || folder == "__MACOSX" { // folders with these names are skipped
		return "skill-" + folder
	}
	return folder
}

// valid refuses a skill that does not load or, if strict, breaks the standard;
// otherwise it returns the warnings.
func valid(doc *skills.Doc, strict bool) ([]skills.Diagnostic, error) {
	mode, text := skills.Lenient, "the skill does not load: "
	if strict {
		mode, text = skills.Strict, "the skill is not valid: "
	}
	ok, list := doc.Judge(mode)
	if ok && doc.Name == "" {
		ok = false
		list = append(list, skills.Diagnostic{Code: "missing_name", Severity: skills.Error, Field: "name", Message: "name is missing: add name: to the header"})
	}
	if ok {
		return list, nil
	}
	e := &Error{Code: "invalid_skill", Diagnostics: list}
	for _, d := range slices.Backward(list) {
		if d.Severity == skills.Error {
			e.Message = text + d.Message + " [" + d.Code + "]"
		}
	}
	return nil, e
}

// fill puts the content of source into root: it copies a folder or unpacks an archive.
// The mark must be at its top or in the only folder at the top. fill returns the folder
// of root that has the mark, "." or that only folder.
func fill(root *os.Root, source string, mark Mark, limits Limits, within string) (dir string, notes []string, err error) {
	w := &writer{root: root, limits: limits.orDefault(), taken: map[string]bool{}}
	info, err := os.Stat(source)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // below a file
		return "", nil, refuse("not_found", "there is no %s", source)
	case err != nil:
		return "", nil, err
	case info.IsDir():
		err = w.copyFolder(source, within)
	default:
		err = w.unpack(source, info.Size())
	}
	if err != nil {
		return "", nil, err
	}
	dir, err = wrapper(root, mark)
	return dir, w.notes, err
}

// wrapper finds the folder that holds mark.
func wrapper(root *os.Root, mark Mark) (string, error) {
	if mark.In == nil || mark.In(root, ".") {
		return ".", nil
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && mark.In(root, e.Name()) {
			found = append(found, e.Name())
		}
	}
	switch {
	case len(found) == 0:
		return "", refuse("archive_no_skill_md", "it has no %s at its top or in its only folder", mark.Name)
	case len(found) > 1:
		return "", refuse("archive_multiple_skills", "it holds more than one: %s; give them one by one", strings.Join(found, ", "))
	case len(entries) > 1:
		return "", refuse("archive_bad_entry", "there are other files beside the folder %s: put everything into it", found[0])
	}
	return found[0], nil
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

// A temp is a new folder below another one that is not searched for skills.
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
		return fmt.Errorf("install %s: it is installed, but its old files cannot be removed: %w", name, err)
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
