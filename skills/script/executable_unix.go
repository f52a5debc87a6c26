//go:build unix

package script

import "io/fs"

func executable(info fs.FileInfo) bool { return info.Mode()&0o111 != 0 }
