//go:build !unix

package script

import (
	"io/fs"
	"os/exec"
	"path"
	"strings"
)

// ownGroup leaves the script in the group of the broker: this system has no
// groups that can be killed. What the script starts may outlive it.
func ownGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}

func executable(info fs.FileInfo) bool {
	switch strings.ToLower(path.Ext(info.Name())) {
	case ".exe", ".bat", ".cmd", ".com":
		return true
	}
	return false
}
