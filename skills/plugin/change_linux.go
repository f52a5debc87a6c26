package plugin

import (
	"io/fs"
	"syscall"
)

// changeTime returns the time at which a file or its times were last changed. No
// program can set it.
func changeTime(info fs.FileInfo) (at [2]int64, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return at, false
	}
	return [2]int64{int64(s.Ctim.Sec), int64(s.Ctim.Nsec)}, true
}
