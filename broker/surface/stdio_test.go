package surface

import (
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// What is not a message is answered, and what comes after it is read.
func TestLinesThatAreNotMessages(t *testing.T) {
	var out strings.Builder
	in := strings.Join([]string{
		`{bad json`,
		``,
		`{"jsonrpc":"2.0","id":1,"method":"a"}`,
		`[1, {"jsonrpc":"2.0","id":2,"method":"b"}]`,
		`[]`,
		`"text"`,
		`{"jsonrpc":"1.0","id":3,"method":"c"}`,
		"\ufeff" + `{"jsonrpc":"2.0","id":4,"method":"d"}`,
		strings.Repeat("x", maxLineBytes+1),
		`{"jsonrpc":"2.0","id":5,"method":"e"}`,
	}, "\n")
	conn, err := (&lineTransport{in: strings.NewReader(in), out: &out}).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var methods []string
	for {
		m, err := conn.Read(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		methods = append(methods, m.(*jsonrpc.Request).Method)
	}
	if got := strings.Join(methods, " "); got != "a b d e" {
		t.Errorf("messages %q, want those with a right form", got)
	}
	answers := strings.Split(strings.TrimSpace(out.String()), "\n")
	wants := []string{"-32700", "-32600", "-32600", "-32600", "-32600", "-32600"}
	if len(answers) != len(wants) {
		t.Fatalf("%d answers, want %d:\n%s", len(answers), len(wants), out.String())
	}
	for i, want := range wants {
		if !strings.Contains(answers[i], want) || !strings.Contains(answers[i], `"id":null`) || len(answers[i]) > 300 {
			t.Errorf("answer %d is %s, want %s", i, answers[i], want)
		}
	}
}
