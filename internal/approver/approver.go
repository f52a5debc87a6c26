// Package approver asks a person for what a model must not decide about itself: with a code
// that is typed at a terminal, or with a secret of the keyring.
package approver

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// SecretName is the name of the secret that stands for a person.
const SecretName = "broker-approver"

// A Question is what only a person may decide.
type Question struct {
	// verb names the decision.
	verb string
	// elsewhere says how a person decides without a terminal.
	elsewhere string
	// undone says what has not happened without an answer.
	undone string
}

// ApproveQuestion returns the question whether calls of a run may be made.
func ApproveQuestion(run string) Question {
	return Question{"approve", "broker console shows the calls, with buttons; then: broker runs resume " + run, "nothing was approved, the calls still wait"}
}

// TrustQuestion returns the question whether the servers of a project may start.
func TrustQuestion() Question {
	return Question{"trust", "copy the servers that you want into your own config: broker import FILE", "the project is not trusted"}
}

// LoosenQuestion returns the question whether the policy may allow more.
func LoosenQuestion() Question {
	return Question{"loosen the policy", `edit "policy" of the config yourself`, "the policy is as it was"}
}

// byToken says how a decision is made without a terminal and without the console.
const byToken = "BROKER_APPROVER_TOKEN=SECRET before the command, with the secret " + SecretName + " (broker auth set-secret " + SecretName + ")"

// Ask returns nil if a person agrees to what show prints, as far as can be told. secret
// reads the secret of the keyring that stands for a person.
func Ask(ctx context.Context, t *cli.IO, secret func(name string) (string, error), q Question, show func() error) error {
	if token := os.Getenv("BROKER_APPROVER_TOKEN"); token != "" {
		want, err := secret(SecretName)
		if err != nil {
			return err
		}
		if subtle.ConstantTimeCompare([]byte(token), []byte(want)) != 1 {
			return errors.New("BROKER_APPROVER_TOKEN is not the secret " + SecretName + " of the keyring")
		}
		return nil
	}
	if name := ClientAbove(); name != "" {
		return cli.Errorf("you cannot %s below %s: a model must not decide about itself\nhint: run it in another terminal, or set BROKER_APPROVER_TOKEN", q.verb, name)
	}
	person := t.Person()
	if person == nil {
		return q.nobody(t.JSON, t.In, t.Err)
	}
	if err := show(); err != nil {
		return err
	}
	return typeCode(ctx, person, q)
}

// nobody returns the error for a command that has no terminal to ask at, and what
// works instead.
func (q Question) nobody(json bool, stdin io.Reader, stderr io.Writer) error {
	in, ok := stdin.(*os.File)
	switch ok = ok && cli.IsTerminal(in); {
	case ok && json:
		return cli.Errorf("to %s needs a terminal, and --json asks nobody: %s\nhint: leave --json out", q.verb, q.undone)
	case ok && !cli.IsTerminal(stderr):
		return cli.Errorf("to %s needs a terminal, and stderr is not one: %s\nhint: do not redirect stderr, the question is printed there", q.verb, q.undone)
	}
	return cli.Errorf("to %s needs a terminal, and stdin is not one: %s\nhint: without a terminal: %s\nor: %s", q.verb, q.undone, q.elsewhere, byToken)
}

// codeTries is how many codes a person may type wrong.
const codeTries = 3

// typeCode returns nil if the person types a code that is shown, a new one for each try.
func typeCode(ctx context.Context, t *cli.Person, q Question) error {
	for try := 1; ; try++ {
		code := strings.ToLower(rand.Text()[:4])
		cli.Fprintf(t.Out, "Type %s to %s: ", code, q.verb)
		answer, err := t.Line(ctx)
		switch {
		case errors.Is(err, io.EOF):
			cli.Fprintln(t.Out)
			return fmt.Errorf("no code was typed: %s", q.undone)
		case err != nil:
			return err
		case strings.ToLower(answer) == code:
			return nil
		case answer == "":
			return fmt.Errorf("no code was typed: %s", q.undone)
		case try == codeTries:
			return cli.Errorf("the code was wrong %d times: %s\nhint: the code is the four characters between \"Type\" and \"to %s\", a new one each time", codeTries, q.undone, q.verb)
		}
		left := "one try is left"
		if n := codeTries - try; n > 1 {
			left = fmt.Sprintf("%d tries are left", n)
		}
		cli.Fprintf(t.Out, "that is not the code, %s; Enter alone leaves it\n", left)
	}
}

// maxAncestors is how many processes above this one are looked at.
const maxAncestors = 32

// clientPrograms are the names of programs with models that use a broker.
var clientPrograms = map[string]bool{
	"claude": true, "claude-code": true, "codex": true, "gemini": true, "cursor": true, "cursor-agent": true, "windsurf": true,
	"opencode": true, "zed": true, "zed-editor": true, "code": true, "code-insiders": true, "goose": true, "amp": true,
}

// ClientAbove names the client of a broker, or the broker that serves one, that has started
// this process. It is empty if a person did, as far as can be told.
func ClientAbove() string { return clientAbove(ancestors()) }

// clientAbove names the first of these command lines that is a client of a broker, or
// a broker that serves one.
func clientAbove(ancestors [][]string) string {
	for _, line := range ancestors {
		for i, word := range line[:min(len(line), 2)] { // an interpreter, and its program
			name := strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(word), ".exe"), ".js"))
			if clientPrograms[name] {
				return name
			}
			if name != "broker" {
				continue
			}
			for _, w := range line[i+1:] {
				if w == "serve" || w == "daemon" || w == "exec" {
					return "broker " + w
				}
			}
		}
	}
	return ""
}
