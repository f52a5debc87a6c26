//go:build !linux

package approver

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// ancestors are the command lines of the processes above this one, as far as they
// can be seen: on Windows they cannot.
func ancestors() (lines [][]string) {
	if runtime.GOOS == "windows" {
		return nil
	}
	for pid := os.Getppid(); pid > 1 && len(lines) < maxAncestors; {
		out, err := exec.Command("ps", "-o", "ppid=,command=", "-p", strconv.Itoa(pid)).Output()
		fields := strings.Fields(string(out))
		if err != nil || len(fields) < 2 {
			break
		}
		lines = append(lines, fields[1:])
		if pid, err = strconv.Atoi(fields[0]); err != nil {
			break
		}
	}
	return lines
}
