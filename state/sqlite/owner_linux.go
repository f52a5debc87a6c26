package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// processStart returns when a process started, in clock ticks after the boot,
// and whether there is such a process. One that has ended and only waits for
// its parent is gone.
func processStart(pid int) (start string, exists bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", !errors.Is(err, fs.ErrNotExist)
	}
	// The name, in parentheses, may have spaces and parentheses itself. After
	// it come the state (field 3) and, as field 22, the start.
	_, rest, _ := strings.Cut(string(data[strings.LastIndexByte(string(data), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return "", true
	}
	return fields[19], fields[0] != "Z" && fields[0] != "X"
}

func bootID() string {
	data, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(data))
}

func pidSpace() string {
	space, _ := os.Readlink("/proc/self/ns/pid")
	return space
}
