package sandbox_test

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

func TestFileName(t *testing.T) {
	for path, want := range map[string]string{
		"a.ts": "a.ts", "/tmp/dir/a-b_C.1.mts": "a-b_C.1.mts", `C:\work\report.js`: "report.js", "x": "x",
		"": "", "dir/": "", "..": "", "my file.ts": "", "a:1:2.ts": "", "a(1).ts": "", "ü.ts": "", "a\nb.ts": "", strings.Repeat("a", 81): "",
	} {
		if got := sandbox.FileName(path); got != want {
			t.Errorf("FileName(%q) = %q, want %q", path, got, want)
		}
	}
}
