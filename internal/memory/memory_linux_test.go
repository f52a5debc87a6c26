package memory

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// mapped returns how many kB of the program's file this process has mapped, without the pages
// that it has changed.
func mapped(t *testing.T) (kB int) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	ours := false
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if strings.Contains(fields[0], "-") {
			ours = strings.HasSuffix(lines.Text(), program) && fields[1][1] == '-'
		} else if ours && fields[0] == "Rss:" {
			n := 0
			for _, digit := range fields[1] {
				n = 10*n + int(digit-'0')
			}
			kB += n
		}
	}
	return kB
}

func TestReleaseUnmapsTheProgram(t *testing.T) {
	before := mapped(t)
	if before == 0 {
		t.Fatal("the test found no pages of its program")
	}
	Release()
	if after := mapped(t); after > before*3/4 {
		t.Errorf("%d kB of the program are mapped after Release, of %d", after, before)
	}
}
