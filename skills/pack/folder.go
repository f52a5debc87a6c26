package pack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxLinks bounds the links of a folder that are followed: a few links to folders
	// with links may otherwise include each other many times.
	maxLinks = 1000
	// maxNotes bounds the omitted links that are named.
	maxNotes = 20
)

// copyFolder copies a folder. It follows links that stay inside within, a folder that
// contains source; empty means source. It leaves other links out with a note.
func (w *writer) copyFolder(source, within string) error {
	v, err := visitorOf(source, within)
	if err != nil {
		return err
	}
	defer v.top.Close()
	v.folder, v.file = w.folder, w.file
	v.fits = func(files int, bytes int64) bool {
		return w.files+files <= w.limits.Files && w.bytes+bytes <= w.limits.Bytes
	}
	v.leftOut = func(name, why string) error {
		switch len(w.notes) {
		case maxNotes:
			w.notes = append(w.notes, "more links are left out")
		case maxNotes + 1:
		default:
			w.notes = append(w.notes, fmt.Sprintf("link %q is left out: it %s", name, why))
		}
		return nil
	}
	if err := v.visitFolder(".", v.at); err != nil {
		return err
	}
	return v.visitLinked()
}

// A visitor calls file for each file of a folder, and folder for each subfolder. It
// skips folders of tools. It calls leftOut for each link that it cannot follow, with
// the reason.
type visitor struct {
	top     *os.Root      // links must stay inside
	at      string        // the folder in top, with slashes
	above   []fs.FileInfo // the folders around the visited one
	links   int
	linked  []linked
	folder  func(name string) error
	file    func(name string, executable bool, f io.Reader) error
	leftOut func(name, why string) error
	// fits reports whether there is room for the target of a link.
	fits func(files int, bytes int64) bool
}

// linked is a folder that a link leads to. It is visited after all content without
// links, which has priority.
type linked struct {
	name, real string
	above      []fs.FileInfo
}

// visitorOf opens source, or within if that contains it.
func visitorOf(source, within string) (*visitor, error) {
	at := "."
	if within != "" {
		real, err := filepath.EvalSymlinks(source)
		if err != nil {
			return nil, err
		}
		if within, err = filepath.EvalSymlinks(within); err != nil {
			return nil, err
		}
		if rel, err := filepath.Rel(within, real); err == nil && filepath.IsLocal(rel) {
			source, at = within, filepath.ToSlash(rel)
		}
	}
	top, err := os.OpenRoot(source)
	if err != nil {
		return nil, err
	}
	v := &visitor{top: top, at: at}
	for up := at; up != "."; {
		up = path.Dir(up)
		info, err := top.Stat(filepath.FromSlash(up))
		if err != nil {
			top.Close()
			return nil, err
		}
		v.above = append(v.above, info)
	}
	return v, nil
}

// visitFolder visits the folder at real in top, under the path name.
func (v *visitor) visitFolder(name, real string) error {
	info, err := v.top.Stat(filepath.FromSlash(real))
	if err != nil {
		return err
	}
	v.above = append(v.above, info)
	defer func() { v.above = v.above[:len(v.above)-1] }()
	if strings.Count(name, "/") > maxDepth {
		return refuse("archive_bad_entry", "the folders of %.100q… are nested too deep", name)
	}
	if err := v.folder(name); err != nil {
		return err
	}
	entries, err := fs.ReadDir(v.top.FS(), real)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := v.entry(path.Join(name, e.Name()), path.Join(real, e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

func (v *visitor) entry(name, real string, e fs.DirEntry) error {
	local, mode := filepath.FromSlash(real), e.Type()
	if mode&fs.ModeSymlink != 0 {
		info, why := v.follow(local)
		if why != "" {
			return v.leftOut(name, why)
		}
		if mode = info.Mode().Type(); mode.IsDir() {
			v.linked = append(v.linked, linked{name, real, slices.Clone(v.above)})
			return nil
		}
	}
	switch {
	case mode.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules"), e.Name() == ".DS_Store":
		return nil
	case mode.IsDir():
		return v.visitFolder(name, real)
	case !mode.IsRegular():
		return refuse("archive_bad_entry", "%s is not a regular file", name)
	}
	f, err := v.top.Open(local)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // the file has been replaced
		return refuse("archive_bad_entry", "%s is not a regular file", name)
	}
	return v.file(name, info.Mode()&0o111 != 0, f)
}

// visitLinked visits the folders that links lead to, and those that links inside them
// lead to.
func (v *visitor) visitLinked() error {
	for len(v.linked) > 0 {
		l := v.linked[0]
		v.linked = v.linked[1:]
		v.above = l.above
		if !v.measure(l) {
			if err := v.leftOut(l.name, "leads to too much content"); err != nil {
				return err
			}
			continue
		}
		if err := v.visitFolder(l.name, l.real); err != nil {
			return err
		}
	}
	return nil
}

// measure reports whether there is room for a folder that a link leads to.
func (v *visitor) measure(l linked) bool {
	files, bytes, folders := 0, int64(0), 0
	errFull := errors.New("full")
	err := fs.WalkDir(v.top.FS(), l.real, func(_ string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // visit reports the error
		case e.IsDir():
			folders++
		case e.Type().IsRegular():
			files++
			if info, err := e.Info(); err == nil {
				bytes += info.Size()
			}
		}
		if !v.fits(max(files, folders/2), bytes) {
			return errFull
		}
		return nil
	})
	return !errors.Is(err, errFull)
}

// follow returns the target of a link, or why the link is not followed.
func (v *visitor) follow(link string) (info fs.FileInfo, why string) {
	if v.links++; v.links > maxLinks {
		return nil, fmt.Sprintf("is one of more than %d", maxLinks)
	}
	info, err := v.top.Stat(link)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "leads to nothing"
	case err != nil: // os.Root has no error value for a link that leads out
		return nil, "leads out of the folder or to itself"
	case info.IsDir() && slices.ContainsFunc(v.above, func(up fs.FileInfo) bool { return os.SameFile(up, info) }):
		return nil, "leads to a folder that contains it"
	case !info.IsDir() && !info.Mode().IsRegular():
		return nil, "does not lead to a file or a folder"
	}
	if git, err := v.top.Lstat(".git"); err == nil && os.SameFile(git, info) {
		return nil, "leads into a .git folder"
	}
	return info, ""
}
