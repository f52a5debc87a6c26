package memory

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// ReleaseProgram unmaps the pages of the program's file that this process cannot write and has
// not changed. The kernel maps them again when they are used: see MADV_DONTNEED in madvise(2).
func ReleaseProgram() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close()
	for _, r := range unchanged(maps, program) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, r.from, r.to-r.from, syscall.MADV_DONTNEED) // a failure changes nothing
	}
}

// A region is a range of addresses.
type region struct{ from, to uintptr }

// unchanged returns the regions in a file such as /proc/self/smaps that map program, cannot be
// written and have no page of their own. A read-only region has such pages where the linker has
// relocated addresses in it, as in programs that are independent of their position, and where a
// debugger has set breakpoints: these pages cannot be read from the file again.
func unchanged(smaps io.Reader, program string) (list []region) {
	var r region
	candidate := false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		line := lines.Text()
		var next region
		var access string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &next.from, &next.to, &access); n == 3 {
			r = next
			candidate = len(access) == 4 && access[1] == '-' && strings.HasSuffix(line, " "+program)
		} else if own, ok := strings.CutPrefix(line, "Anonymous:"); ok && candidate && strings.TrimSpace(own) == "0 kB" {
			list = append(list, r)
		}
	}
	return list
}
