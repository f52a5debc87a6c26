//go:build unix

package files

import (
	"io/fs"
	"strconv"
	"syscall"
)

// fileID is another one for a file that has taken the place of one.
func fileID(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(uint64(st.Ino), 36)
	}
	return ""
}
