package link

import (
	"errors"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// An unanswered question hides why the call failed, but not that its outcome is
// unknown.
func TestUnansweredQuestionAndNoAnswer(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		lost bool
	}{
		{"an error of the server", &jsonrpc.Error{Code: -32603, Message: "no"}, false},
		{"the end of the connection", io.ErrUnexpectedEOF, true},
		{"a result that is none", errors.New("the server answered without a result"), true},
		{"the question itself", &InputError{}, false},
	} {
		call := &Call{ctx: t.Context(), server: "s", tool: "x"}
		call.refused = &InputError{Asked: "a form", Retry: true}
		_, err := call.outcome(nil, c.err)
		e, ok := errors.AsType[*InputError](err)
		if !ok || e.Lost != c.lost || e.Retry == c.lost || call.refused.Lost {
			t.Errorf("%s: %#v", c.name, err)
		}
	}
}
