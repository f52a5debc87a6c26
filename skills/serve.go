package skills

import (
	"path"
	"slices"
	"strings"
)

// At is the path under which the skill is served: its origin and its name, such
// as "local/user/release-notes". No two skills of a Snapshot have the same.
func (s *Skill) At() string {
	return strings.ReplaceAll(s.Origin(), ":", "/") + "/" + s.Name
}

// A Node is a file or a folder of a skill.
type Node struct {
	// Path is relative to the skill, with slashes.
	Path string
	Dir  bool
	// Size and MIMEType are those of a file.
	Size     int64
	MIMEType string
}

// Bytes reads a whole file of the skill as it is. Only files that Manifest lists
// are read; a skill beyond its limits has none. An error is a *FileError.
func (s *Skill) Bytes(name string) (data []byte, mimeType string, err error) {
	files, list, done, err := s.openAll()
	if err != nil {
		return nil, "", err
	}
	defer done()
	if !slices.ContainsFunc(list, func(f File) bool { return f.Path == name }) {
		return nil, "", &FileError{"not_found", "there is no file " + quoted(name) + " in skill " + quoted(s.Ref)}
	}
	if data, err = readRegular(files, name, MaxTotalBytes); err != nil {
		return nil, "", s.fileError(files, name, err)
	}
	if len(data) > MaxTotalBytes {
		return nil, "", s.tooLarge()
	}
	return data, mimeOf(name, sniffed(data)), nil
}

// sniffed is the beginning of a text, nil if the data is none.
func sniffed(data []byte) []byte {
	if !IsText(data) {
		return nil
	}
	return data[:min(len(data), sniffBytes)]
}

// IsText reports whether data is UTF-8 without NUL.
func IsText(data []byte) bool { return isText(data, false) }

// Children lists what is directly in a folder of the skill, sorted by path; an
// empty dir is the skill's own. Folders without files are left out. A file, and
// what is not there, is a *FileError.
func (s *Skill) Children(dir string) ([]Node, error) {
	_, list, done, err := s.openAll()
	if err != nil {
		return nil, err
	}
	done()
	var nodes []Node
	for _, f := range list {
		rest, ok := strings.CutPrefix("/"+f.Path, strings.TrimSuffix("/"+dir, "/")+"/")
		if !ok {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		n := Node{Path: path.Join(dir, name), Dir: deeper}
		if !deeper {
			n.Size, n.MIMEType = f.Size, mimeOf(f.Path, nil)
		}
		if !slices.ContainsFunc(nodes, func(o Node) bool { return o.Path == n.Path }) {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return nil, &FileError{"not_found", quoted(dir) + " is not a folder of skill " + quoted(s.Ref)}
	}
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Path, b.Path) })
	return nodes, nil
}
