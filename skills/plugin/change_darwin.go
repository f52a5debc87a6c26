package plugin

import (
	"io/fs"
	"syscall"
)

// changeTime returns when a file was last written or given other times, which
// nobody can set.
func changeTime(info fs.FileInfo) (at [2]int64, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return at, false
	}
	return [2]int64{int64(s.Ctimespec.Sec), int64(s.Ctimespec.Nsec)}, true
}
