package words

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 tools", 1: "1 tool", 2: "2 tools", 1000: "1000 tools"} {
		if got := Count(n, "tool"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for s, want := range map[string]string{
		"a\n b\t\tc ":          "a b c",
		"\x1b[31mred":          "·[31mred",
		"a long text":          "a long…",
		"\u202eturned":         "·turned",
		strings.Repeat(" ", 9): "",
	} {
		if got := Line(s, 8); got != want {
			t.Errorf("Line(%q) = %q, want %q", s, got, want)
		}
	}
}

// A shell reads one word, whatever is in it.
func TestShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell: ", err)
	}
	for _, s := range []string{"", "plain-1.2/x", "two words", "it's", "$HOME", "`id`", "a\nb", "*", "--flag=x y", `back\slash"quote`} {
		got, err := exec.Command(sh, "-c", "printf %s "+Shell(s)).Output()
		if string(got) != s || err != nil {
			t.Errorf("Shell(%q) = %s, which a shell reads as %q, %v", s, Shell(s), got, err)
		}
	}
	if got := Shell("plain-1.2/x"); got != "plain-1.2/x" {
		t.Errorf("a plain word becomes %s", got)
	}
}

func TestOr(t *testing.T) {
	for _, tt := range []struct {
		list []string
		want string
	}{{nil, ""}, {[]string{"a"}, "a"}, {[]string{"a", "b"}, "a or b"}, {[]string{"a", "b", "c d"}, "a, b or c d"}} {
		if got := Or(tt.list); got != tt.want {
			t.Errorf("Or(%q) = %q, want %q", tt.list, got, tt.want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0 s", 250 * time.Millisecond: "0.25 s", 9900 * time.Millisecond: "9.9 s", 12400 * time.Millisecond: "12 s", 2 * time.Minute: "120 s"} {
		if got := Seconds(d); got != want {
			t.Errorf("Seconds(%v) = %q, want %q", d, got, want)
		}
	}
}
