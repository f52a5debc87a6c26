package sandbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// named is a runner that returns its name, and fails to close.
type named string

func (n named) Run(context.Context, sandbox.Request) (sandbox.Result, error) {
	return sandbox.Result{Error: string(n)}, nil
}

func (n named) Layers(context.Context) ([]sandbox.Layer, error) {
	return []sandbox.Layer{{Name: string(n)}}, nil
}

func (n named) Close() error { return errors.New(string(n)) }

func TestProgramsGoToTheRunnerOfTheirPlace(t *testing.T) {
	process, box, python := named("process"), named("box"), named("python")
	r := sandbox.NewPlaces(map[sandbox.Language]sandbox.Isolation{
		sandbox.TypeScript: sandbox.InWorker, sandbox.JavaScript: sandbox.InContainer, sandbox.Python: sandbox.InContainer,
	}, map[sandbox.Place]sandbox.Runner{
		{Language: sandbox.TypeScript, Isolation: sandbox.InWorker}:    process,
		{Language: sandbox.TypeScript, Isolation: sandbox.InContainer}: box,
		{Language: sandbox.JavaScript, Isolation: sandbox.InContainer}: box,
		{Language: sandbox.Python, Isolation: sandbox.InContainer}:     python,
	})
	for _, tt := range []struct {
		language  sandbox.Language
		isolation sandbox.Isolation
		want      string
	}{
		{"", "", "process"},
		{sandbox.TypeScript, "", "process"},
		{sandbox.TypeScript, sandbox.InContainer, "box"},
		{sandbox.JavaScript, "", "box"},
		{sandbox.Python, "", "python"},
		{sandbox.Python, sandbox.InWorker, `python does not run in isolation "worker" here; 0 tools called`},
		{sandbox.JavaScript, sandbox.InWorker, `javascript does not run in isolation "worker" here; 0 tools called`},
		{"cobol", "", `language "cobol" does not run here; 0 tools called`},
	} {
		res, err := r.Run(t.Context(), sandbox.Request{Language: tt.language, Isolation: tt.isolation})
		if err != nil || res.Error != tt.want {
			t.Errorf("%q in %q went to %q, %v; want %q", tt.language, tt.isolation, res.Error, err, tt.want)
		}
	}
	if layers, err := sandbox.LayersOf(t.Context(), r); err != nil || len(layers) != 1 || layers[0].Name != "process" {
		t.Errorf("layers %v, %v; want those of TypeScript", layers, err)
	}
	if !r.Together(r.Usual(sandbox.JavaScript), sandbox.Place{Language: sandbox.TypeScript, Isolation: sandbox.InContainer}) || r.Together(r.Usual(""), r.Usual(sandbox.Python)) {
		t.Error("places share a runner that do not, or do not that do")
	}
	err := r.Close()
	if err == nil {
		t.Fatal("Close: no error, want what all three say")
	}
	for _, n := range []named{process, box, python} {
		if strings.Count(err.Error(), string(n)) != 1 {
			t.Errorf("Close: %q, want %s closed once", err, n)
		}
	}
}
