//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// foreign returns the reason others than the user and root may have written a file, or "".
func foreign(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Sprintf("it belongs to another user (uid %d)", st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Sprintf("others can write to it (mode %04o): run chmod go-w on it", info.Mode().Perm())
	}
	return ""
}
