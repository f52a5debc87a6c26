// Package atomicfile replaces files atomically: a reader sees the old or the new content, even after
// a process was killed.
package atomicfile

import (
	"os"
	"path/filepath"
)

// A File replaces the file at its path when it is committed. Until then it is beside that file,
// with a name that begins with a dot and ends with ".tmp".
type File struct {
	*os.File
	path string
}

// Create begins to replace the file at path, in an existing folder. Only the user can read the new
// file. Commit or Discard must be called.
func Create(path string) (*File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp") // mode 0600
	if err != nil {
		return nil, err
	}
	return &File{f, path}, nil
}

// Commit closes f and moves it into place. After an error nothing has changed.
func (f *File) Commit() error {
	err := f.Close()
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Discard closes f and removes it. After Commit it does nothing.
func (f *File) Discard() {
	if f.Close() == nil {
		os.Remove(f.Name())
	}
}

// Write replaces the file at path. It does not wait for the disk: a crash of the operating system
// may leave an empty file.
func Write(path string, data []byte) error { return write(path, data, false) }

// WriteSync is like Write, and also survives a crash of the operating system.
func WriteSync(path string, data []byte) error { return write(path, data, true) }

func write(path string, data []byte, sync bool) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	if err != nil {
		f.Discard()
		return err
	}
	return f.Commit()
}
