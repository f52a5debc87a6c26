package memory

import (
	"bufio"
	"os"
	"slices"
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

// What the linker or a debugger has changed is kept, and so is what can be written.
func TestChangedPagesAreKept(t *testing.T) {
	const smaps = `00400000-01c09000 r-xp 00000000 fe:00 10 /usr/bin/broker
Rss:               17896 kB
Anonymous:             0 kB
01c09000-036f1000 r--p 01809000 fe:00 10 /usr/bin/broker
Anonymous:             0 kB
036f1000-03a00000 r--p 032f1000 fe:00 10 /usr/bin/broker
Anonymous:          2980 kB
03a00000-03b00000 r-xp 03600000 fe:00 10 /usr/bin/broker
Anonymous:             4 kB
03b00000-03c00000 rw-p 03700000 fe:00 10 /usr/bin/broker
Anonymous:             0 kB
7f0000000000-7f0000100000 r--p 00000000 fe:00 11 /usr/lib/libc.so.6
Anonymous:             0 kB
7f0000200000-7f0000300000 r--p 00000000 00:00 0
Anonymous:             0 kB
`
	want := []region{{0x400000, 0x1c09000}, {0x1c09000, 0x36f1000}}
	if got := unchanged(strings.NewReader(smaps), "/usr/bin/broker"); !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}
