package skills

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Bundle is all files of a skill as they were at one moment, to be used
// together. Folders of tools are not in it, nor links that lead out of the skill.
type Bundle struct {
	Files []BundledFile // sorted by path
	// Digest is that of the paths, of what is executable, and of all bytes.
	Digest string
}

// A BundledFile is one file of a Bundle.
type BundledFile struct {
	// Path is relative to the skill's folder, with slashes.
	Path string
	// Executable is the file's own mark. Where a file system has none, it is
	// false.
	Executable bool
	Data       []byte
}

// File returns the file of that path, and whether there is one.
func (b *Bundle) File(path string) (BundledFile, bool) {
	i, ok := slices.BinarySearchFunc(b.Files, path, func(f BundledFile, path string) int { return strings.Compare(f.Path, path) })
	if !ok {
		return BundledFile{}, false
	}
	return b.Files[i], true
}

// Write makes a folder of the bundle that only this user may enter. dir must not exist
// yet.
func (b *Bundle) Write(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range b.Files {
		name, mode := filepath.FromSlash(f.Path), os.FileMode(0o600)
		if f.Executable {
			mode = 0o700
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(name, f.Data, mode); err != nil {
			return err
		}
	}
	return nil
}

// Bundle reads every file of the skill. More than MaxFiles files or
// MaxTotalBytes bytes are an error, and so is a skill of a server: its files are
// fetched one by one when they are read, and not run. Errors are of type
// *FileError.
func (s *Skill) Bundle() (*Bundle, error) {
	if s.remote != nil {
		return nil, &FileError{"not_local", "skill " + quoted(s.Ref) + " is from a server: its files can be read, and are not run"}
	}
	files, done, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer done()
	b := &Bundle{}
	complete := walkFiles(files, func(name string, info fs.FileInfo) {
		b.Files = append(b.Files, BundledFile{Path: name, Executable: info.Mode()&0o111 != 0})
	})
	if !complete {
		return nil, s.tooMany()
	}
	slices.SortFunc(b.Files, func(a, b BundledFile) int { return strings.Compare(a.Path, b.Path) })
	h, left := sha256.New(), int64(MaxTotalBytes)
	for i := range b.Files {
		f := &b.Files[i]
		if f.Data, err = readRegular(files, f.Path, left); err != nil {
			return nil, s.fileError(files, f.Path, err)
		}
		if left -= int64(len(f.Data)); left < 0 {
			return nil, s.tooLarge()
		}
		fmt.Fprintf(h, "%q %t %d\n", f.Path, f.Executable, len(f.Data))
		h.Write(f.Data)
	}
	b.Digest = Digest(h.Sum(nil))
	return b, nil
}

func (s *Skill) tooMany() error {
	return &FileError{"too_many_files", fmt.Sprintf("skill %s has more than %d files", quoted(s.Ref), MaxFiles)}
}

func (s *Skill) tooLarge() error {
	return &FileError{"too_large", fmt.Sprintf("skill %s has more than %d MiB", quoted(s.Ref), MaxTotalBytes>>20)}
}

// Stamp is a text that changes when a file of the skill does, as far as sizes,
// times and modes tell: no file is read for it. Its errors are those of Bundle.
func (s *Skill) Stamp() (stamp string, bytes int64, err error) {
	if s.virtual != nil { // in memory, without times
		b, err := s.Bundle()
		if err != nil {
			return "", 0, err
		}
		for _, f := range b.Files {
			bytes += int64(len(f.Data))
		}
		return b.Digest, bytes, nil
	}
	files, done, err := s.Open()
	if err != nil {
		return "", 0, err
	}
	defer done()
	var list []string
	complete := walkFiles(files, func(name string, info fs.FileInfo) {
		bytes += info.Size()
		list = append(list, fmt.Sprintf("%q %d %d %o", name, info.Size(), info.ModTime().UnixNano(), info.Mode()))
	})
	switch {
	case !complete:
		return "", 0, s.tooMany()
	case bytes > MaxTotalBytes:
		return "", 0, s.tooLarge()
	}
	slices.Sort(list)
	return strings.Join(list, "\n"), bytes, nil
}
