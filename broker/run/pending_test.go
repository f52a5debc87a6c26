package run_test

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/state"
)

// The approver of a call sees that its arguments contain invisible characters.
func TestWhatIsHiddenInArgumentsIsSpeltOut(t *testing.T) {
	p := run.PendingOf(state.RunCall{Tool: "files__write", Args: []byte(`{"text": "a\u001b[2Jb\u200bc\nd", "zażółć": "gęślą"}`)})
	const want = `{"text":"a\\u001b[2Jb\\u200bc\nd","zażółć":"gęślą"}`
	if string(p.Args) != want {
		t.Errorf("arguments are shown as %s, want %s", p.Args, want)
	}
	if line := p.String(); !strings.Contains(line, `a\\u001b[2Jb\\u200bc`) {
		t.Errorf("a terminal gets %q", line)
	}
}
