package skills

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// What is searched of a skill: so many files, and of each so much.
const (
	maxTextFiles = 128
	maxTextBytes = 256 << 10
)

// textEnds are the ends of names of files that are written to be read.
var textEnds = []string{".md", ".markdown", ".mdx", ".txt", ".rst", ".adoc"}

// A TextFile is a file of a skill that is written to be read.
type TextFile struct {
	// Path is relative to the skill's folder, with slashes.
	Path string
	// Stamp changes when the file does, as far as size and time tell.
	Stamp string
	skill *Skill
}

// Read returns the text, or the beginning of a long one; that of SKILL.md
// without its header. A file that is gone or is not text is empty.
func (f TextFile) Read() string {
	files, done, err := f.skill.Open()
	if err != nil {
		return ""
	}
	defer done()
	b, err := readRegular(files, f.Path, maxTextBytes-1)
	if err != nil || bytes.IndexByte(b, 0) >= 0 {
		return ""
	}
	for range min(utf8.UTFMax-1, len(b)) { // it may have been cut within a character
		if r, n := utf8.DecodeLastRune(b); r != utf8.RuneError || n != 1 {
			break
		}
		b = b[:len(b)-1]
	}
	if f.Path == f.skill.File() {
		return Parse(b).Body
	}
	return strings.ToValidUTF8(string(b), "")
}

// TextFiles lists the skill's files that are written to be read, SKILL.md among
// them, sorted by path. A skill of a server has none: its files would have to be
// fetched.
func (s *Skill) TextFiles() []TextFile {
	if s.remote != nil {
		return nil
	}
	files, done, err := s.Open()
	if err != nil {
		return nil
	}
	defer done()
	var list []TextFile
	walkFiles(files, func(name string, info fs.FileInfo) {
		if !slices.Contains(textEnds, strings.ToLower(path.Ext(name))) {
			return
		}
		stamp := fmt.Sprintf("%s %d %d", s.dir, info.Size(), info.ModTime().UnixNano())
		if s.virtual != nil { // in memory, without times
			b, _ := readRegular(files, name, maxTextBytes)
			stamp = fmt.Sprintf("virtual %x", sha256.Sum256(b))
		}
		list = append(list, TextFile{name, stamp, s})
	})
	slices.SortFunc(list, func(a, b TextFile) int { return strings.Compare(a.Path, b.Path) })
	return list[:min(len(list), maxTextFiles)]
}
