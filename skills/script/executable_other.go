//go:build !unix

package script

import (
	"io/fs"
	"path"
	"strings"
)

func executable(info fs.FileInfo) bool {
	switch strings.ToLower(path.Ext(info.Name())) {
	case ".exe", ".bat", ".cmd", ".com":
		return true
	}
	return false
}
