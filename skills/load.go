package skills

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Read reads the SKILL.md of the skill in the folder root. folder is the name of that
// folder as given, which for a link is that of the link, not of its target; empty means
// that the name does not matter. Like Parse it never fails.
func Read(root *os.Root, folder string) *Doc {
	d := &Doc{}
	name, err := skillFile(root)
	if err != nil {
		d.unreadable(FileName, err)
		return d
	}
	return readFile(root, name, folder)
}

// readFile reads the SKILL.md that is called name.
func readFile(root *os.Root, name, folder string) *Doc { return readNamed(root, name, name, folder) }

// readNamed is readFile for a SKILL.md that is the file target of root.
func readNamed(root *os.Root, target, name, folder string) *Doc {
	d := &Doc{}
	data, err := readRegular(root.FS(), target, MaxFileBytes)
	if err != nil {
		d.unreadable(name, err)
		return d
	}
	if name != FileName {
		d.found("skill_md_case", 0, "the file is called %s: rename it to %s, which every client finds", name, FileName)
	}
	d.parse(data)
	d.inFolder(folder)
	return d
}

// Locate returns the folder of the skill that is meant by path, which is that
// folder or the SKILL.md in it, and the name of that file, which need not be
// there.
func Locate(path string) (dir, file string) {
	dir = path
	if base := filepath.Base(path); base == FileName || base == lowerFileName {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			dir = filepath.Dir(path)
		}
	}
	if root, err := os.OpenRoot(dir); err == nil {
		defer root.Close()
		if name, err := skillFile(root); err == nil {
			return dir, name
		}
	}
	return dir, FileName
}

// ReadPath reads the skill in the folder at path, or with its SKILL.md at path, and
// checks whether its workflow can be run.
func ReadPath(path string) *Doc {
	path, _ = Locate(path)
	folder := path
	if abs, err := filepath.Abs(path); err == nil {
		folder = abs
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		d := &Doc{}
		if errors.Is(err, fs.ErrNotExist) {
			d.found("missing_skill_md", 0, "there is no such folder")
		} else {
			d.unreadable(FileName, err)
		}
		return d
	}
	defer root.Close()
	return ReadFolder(root, filepath.Base(folder))
}

// ReadFolder is Read, and also checks whether the skill's workflow can be run.
func ReadFolder(root *os.Root, folder string) *Doc {
	d := Read(root, folder)
	d.judgeWorkflow(root.FS())
	return d
}

// skillFile is the name of the file that makes root a skill. Names are compared
// as they are in the folder, also where the system takes both spellings.
func skillFile(root *os.Root) (string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return "", err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return "", err
	}
	if name := pickFile(names); name != "" {
		return name, nil
	}
	return "", fs.ErrNotExist
}

func pickFile(names []string) string {
	switch {
	case slices.Contains(names, FileName):
		return FileName
	case slices.Contains(names, lowerFileName):
		return lowerFileName
	}
	return ""
}

// readRegular reads a regular file, of which it reads one byte more than limit at
// most. Anything else could keep a reader waiting for ever.
func readRegular(files fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errNotRegular}
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

var errNotRegular = errors.New("not a regular file")

// escapes reports whether an error of an os.Root means that a name or a link
// leads out of it. The package os has no value for it.
func escapes(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), "path escapes from parent")
}

func (d *Doc) unreadable(file string, err error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.found("missing_skill_md", 0, "there is no %s in this folder: a skill is a folder with that file", FileName)
	case escapes(err):
		d.found("symlink_escape", 0, "%s is a link that leads out of the skill's folder: put the file itself there", file)
	default:
		d.found("unreadable", 0, "%s cannot be read: %s", file, cause(err))
	}
}

// cause is an error without the path that it happened at.
func cause(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return err.Error()
}

// inFolder compares the name with that of the folder, which replaces one that
// cannot be used.
func (d *Doc) inFolder(folder string) {
	folder = norm.NFKC.String(folder)
	if folder == "" || d.header == nil {
		return
	}
	if d.Name == "" {
		d.Name = folder
		return
	}
	if d.Name != folder {
		d.found("name_dir_mismatch", d.lineOf("name"), "name is %s, but the folder is called %s: they have to be the same", quoted(d.Name), quoted(folder))
	}
}

// lineOf is where a field stands; that of the header if it does not.
func (d *Doc) lineOf(field string) int {
	line := d.header.Line
	for i := 0; i+1 < len(d.header.Content); i += 2 {
		if d.header.Content[i].Value == field {
			line = d.header.Content[i].Line
		}
	}
	return line
}
