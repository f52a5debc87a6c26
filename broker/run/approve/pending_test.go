package approve_test

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker/run/approve"
	"github.com/mcpbroker/mcpbroker/state"
)

// The approver of a call sees that its arguments contain invisible characters.
func TestWhatIsHiddenInArgumentsIsSpeltOut(t *testing.T) {
	p := approve.PendingOf(state.RunCall{Tool: "files__write", Args: []byte(`{"text": "a\u001b[2Jb\u200bc\nd", "zażółć": "gęślą"}`)})
	const want = `{"text":"a\\u001b[2Jb\\u200bc\nd","zażółć":"gęślą"}`
	if string(p.Args) != want {
		t.Errorf("arguments are shown as %s, want %s", p.Args, want)
	}
	if line := p.String(); !strings.Contains(line, `a\\u001b[2Jb\\u200bc`) {
		t.Errorf("a terminal gets %q", line)
	}
}

// The reason of a waiting call is a sentence, wherever it is shown.
func TestReasonsAreSentences(t *testing.T) {
	for _, tt := range []struct {
		call state.RunCall
		want string
	}{
		{state.RunCall{Tool: "t__a", State: state.RunAsked, Why: "is destructive, and the policy (preset balanced) asks before such calls"}, "it is destructive, and the policy (preset balanced) asks before such calls"},
		{state.RunCall{Tool: "t__a", State: state.RunAsked, Why: "writes"}, "it writes"},
		{state.RunCall{Tool: "t__a", State: state.RunAsked, Why: "asks first, because its server says that it may destroy something"}, "it asks first, because its server says that it may destroy something"},
		{state.RunCall{Tool: "t__a", State: state.RunUnknown, Class: "write"}, "it was sent, and its answer was lost: nobody knows whether it was done"},
		{state.RunCall{Tool: "t__a", State: state.RunDone}, ""},
	} {
		p := approve.PendingOf(tt.call)
		if p.Why != tt.want {
			t.Errorf("%q: why = %q, want %q", tt.call.Why, p.Why, tt.want)
		}
		if line := p.String(); !strings.HasPrefix(line, "  0  t__a: "+tt.want+"\n") {
			t.Errorf("%q: a terminal gets %q", tt.call.Why, line)
		}
	}
}
