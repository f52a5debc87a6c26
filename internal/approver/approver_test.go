package approver

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// personal is all that only a person may decide, with the commands that ask.
var personal = map[string]Question{
	"broker approvals approve r_abc": ApproveQuestion("r_abc"),
	"broker projects trust .":        TrustQuestion(),
	"broker policy allow notes":      LoosenQuestion(),
}

// Where nobody can be asked, the error says what is missing, that nothing has changed
// and what works instead, which is not the command that failed.
func TestNobodyToAsk(t *testing.T) {
	for command, q := range personal {
		text := q.nobody(false, strings.NewReader(""), &bytes.Buffer{}).Error()
		for _, want := range []string{"to " + q.verb + " needs a terminal, and stdin is not one: " + q.undone, q.elsewhere, "BROKER_APPROVER_TOKEN", "broker auth set-secret " + SecretName} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q does not say %q", command, text, want)
			}
		}
		if strings.Contains(text, strings.Join(strings.Fields(command)[:3], " ")) {
			t.Errorf("%s: the hint is the command that failed: %q", command, text)
		}
	}
}

// A person types a code that is shown. A wrong one is called wrong, and says how many
// tries are left.
func TestCodesOfAPerson(t *testing.T) {
	for command, q := range personal {
		for _, tt := range []struct {
			name, typed, want string
			shown             []string
		}{
			{"Enter alone", "\n", "no code was typed: " + q.undone, nil},
			{"the end of the input", "", "no code was typed: " + q.undone, nil},
			{"one wrong code", "nope\n", "no code was typed: " + q.undone, []string{"that is not the code, 2 tries are left"}},
			{"a wrong code, then Enter", "nope\n\n", "no code was typed: " + q.undone, []string{"that is not the code, 2 tries are left"}},
			{"three wrong codes", "y\nyes\nnope\n", "the code was wrong 3 times: " + q.undone, []string{"2 tries are left", "one try is left"}},
		} {
			var out bytes.Buffer
			err := typeCode(t.Context(), cli.NewPerson(strings.NewReader(tt.typed), &out), q)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("%s, %s: %v, want %q", command, tt.name, err, tt.want)
			}
			for _, s := range tt.shown {
				if !strings.Contains(out.String(), s) {
					t.Errorf("%s, %s: shown %q, want %q", command, tt.name, &out, s)
				}
			}
		}
	}
}

// The right code counts at any of the three tries, and only the newest.
func TestCodeAtLast(t *testing.T) {
	shown := regexp.MustCompile(`Type (\w+) to approve: `)
	for wrong := range codeTries {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		screen := writerFunc(func(p []byte) (int, error) {
			m := shown.FindSubmatch(p)
			if m == nil {
				return len(p), nil
			}
			line := strings.ToUpper(string(m[1])) // as good as the small letters
			if wrong > 0 {
				wrong, line = wrong-1, "wrong"
			}
			_, err := write.WriteString(line + "\n")
			return len(p), err
		})
		if err := typeCode(t.Context(), cli.NewPerson(read, screen), ApproveQuestion("r_abc")); err != nil {
			t.Error(err)
		}
		write.Close()
	}
	broken := cli.NewPerson(iotest.ErrReader(os.ErrClosed), &bytes.Buffer{})
	if err := typeCode(t.Context(), broken, ApproveQuestion("r_abc")); err == nil {
		t.Error("approved by a terminal that cannot be read")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A client that uses a broker, and the broker itself, are known by their command
// lines.
func TestClientAbove(t *testing.T) {
	for line, want := range map[string]string{
		"/bin/bash -i":                               "",
		"node /usr/local/bin/claude":                 "claude",
		"/Applications/Cursor.app/MacOS/Cursor --no": "cursor",
		"/usr/bin/broker serve --http :1":            "broker serve",
		"broker --config x.json daemon run":          "broker daemon",
		"broker runs resume r_1":                     "",
		"vim claude":                                 "claude", // rather one too many
		"vim notes.txt claude":                       "",
	} {
		if got := clientAbove([][]string{{"-zsh"}, strings.Fields(line), {"/sbin/init"}}); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if lines := ancestors(); len(lines) == 0 {
		t.Log("the processes above this one cannot be seen here")
	}
}
