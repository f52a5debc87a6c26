package postgrestest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// template returns the path of the data directory that servers of this version begin with. It
// is in the user's cache directory, and may not exist yet.
func (s *Server) template() (string, error) {
	caches, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	program := filepath.Join(s.bin, "postgres")
	info, err := os.Stat(program)
	if err != nil {
		return "", err
	}
	version := sha256.Sum256(fmt.Append(nil, program, info.Size(), info.ModTime().UnixNano(), initArgs))
	return filepath.Join(caches, "mcpbroker-test", fmt.Sprintf("postgres-%x", version[:8])), nil
}

// keepTree copies a directory to path. If path exists, keepTree changes nothing.
func keepTree(path, from string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	made, err := os.MkdirTemp(filepath.Dir(path), "made-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	copied := filepath.Join(made, "data")
	if err := copyTree(copied, from, func(string) error { return nil }); err != nil {
		return err
	}
	return os.Rename(copied, path)
}

// copyTree copies a directory of files and directories, and calls each with every path that it
// has made.
func copyTree(path, from string, each func(string) error) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		to := filepath.Join(path, rel)
		if d.IsDir() {
			err = os.Mkdir(to, 0o700)
		} else {
			err = copyFile(to, name)
		}
		if err != nil {
			return err
		}
		return each(to)
	})
}

func copyFile(path, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
	}()
	_, err = io.Copy(out, in)
	return err
}
