package approver

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// ancestors are the command lines of the processes above this one, as far as they
// can be seen.
func ancestors() (lines [][]string) {
	for pid := os.Getppid(); pid > 1 && len(lines) < maxAncestors; {
		dir := "/proc/" + strconv.Itoa(pid)
		line, err := os.ReadFile(dir + "/cmdline")
		if err != nil {
			break
		}
		lines = append(lines, strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00"))
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil {
			break
		}
		// The name of the program, in parentheses, may be anything.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 {
			break
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			break
		}
	}
	return lines
}
