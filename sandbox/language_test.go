package sandbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// named is a runner that returns its name, and fails to close.
type named string

func (n named) Run(context.Context, sandbox.Request) (sandbox.Result, error) {
	return sandbox.Result{Error: string(n)}, nil
}

func (n named) Close() error { return errors.New(string(n)) }

func TestProgramsGoToTheRunnerOfTheirLanguage(t *testing.T) {
	r := sandbox.ByLanguage(named("js"), map[sandbox.Language]sandbox.Runner{sandbox.Python: named("py")})
	for language, want := range map[sandbox.Language]string{"": "js", sandbox.TypeScript: "js", sandbox.Python: "py"} {
		if res, err := r.Run(t.Context(), sandbox.Request{Language: language}); err != nil || res.Error != want {
			t.Errorf("%q went to %q, %v; want %q", language, res.Error, err, want)
		}
	}
	if err := r.Close(); err == nil || err.Error() != "js\npy" {
		t.Errorf("Close: %v, want what both say", err)
	}
}
