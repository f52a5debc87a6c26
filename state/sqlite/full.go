package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// probeBytes is the number of bytes that noRoom tries to write: more than SQLite needs
// to open a file.
const probeBytes = 256 << 10

// explainAt is explain for an error of opening the file at path. SQLite does not always
// report a full disk as such, for example if a file that it shares with other processes
// cannot grow.
func explainAt(path string, err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff != sqlite3.SQLITE_FULL && noRoom(filepath.Dir(path)) {
		return fmt.Errorf("%w: the disk of %s is full", err, filepath.Dir(path))
	}
	return explain(err)
}

// noRoom reports whether a file of a moderate size cannot be written into a directory
// because the disk is full.
func noRoom(dir string) bool {
	f, err := os.CreateTemp(dir, ".room-*")
	if err != nil {
		return isFull(err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, probeBytes))
	return isFull(errors.Join(err, f.Close()))
}

// errDiskFull is ERROR_DISK_FULL of Windows.
const errDiskFull = syscall.Errno(112)

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || runtime.GOOS == "windows" && errors.Is(err, errDiskFull)
}
