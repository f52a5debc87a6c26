package memory

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// ReleaseProgram unmaps the pages of the program's file that this process cannot write. The
// kernel maps them again when they are used: see MADV_DONTNEED in madvise(2).
func ReleaseProgram() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to uintptr
		var access string
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &access); n < 3 || access[1] != '-' || !strings.HasSuffix(lines.Text(), " "+program) {
			continue
		}
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED) // a failure changes nothing
	}
}
