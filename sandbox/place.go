package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// An Isolation is what stands between a program and its host.
type Isolation string

// The isolations.
const (
	InWorker    Isolation = "worker"    // a process of its own
	InContainer Isolation = "container" // a container of its own
	InProcess   Isolation = "inprocess" // nothing
)

// A Place is where programs of a language run.
type Place struct {
	Language  Language
	Isolation Isolation
}

// Places is a runner of several runners: each program runs in the place that it
// asks for, or that is usual for its language.
type Places struct {
	defaults map[Language]Isolation
	runners  map[Place]Runner
}

// NewPlaces returns a runner that hands each program to the runner of its place;
// a runner may have many. usual is where those run that name no isolation. Close
// closes all.
func NewPlaces(usual map[Language]Isolation, runners map[Place]Runner) *Places {
	return &Places{usual, runners}
}

// Usual is where programs of a language run that name no isolation.
func (p *Places) Usual(language Language) Place {
	if language == "" {
		language = TypeScript
	}
	return Place{language, p.defaults[language]}
}

// Run implements Runner.
func (p *Places) Run(ctx context.Context, req Request) (Result, error) {
	at := p.Usual(req.Language)
	if req.Isolation != "" {
		at.Isolation = req.Isolation
	}
	r := p.runners[at]
	if r == nil {
		why := fmt.Sprintf("%s does not run in isolation %q here", at.Language, at.Isolation)
		if p.defaults[at.Language] == "" {
			why = fmt.Sprintf("language %q does not run here", at.Language)
		}
		return Result{ExitCode: ExitRefused, Error: why + "; 0 tools called"}, nil
	}
	return r.Run(ctx, req)
}

// Layers implements Layered: they are those of TypeScript.
func (p *Places) Layers(ctx context.Context) ([]Layer, error) {
	return p.LayersAt(ctx, p.Usual(TypeScript))
}

// LayersAt returns the layers of a place, as Layers of its runner does.
func (p *Places) LayersAt(ctx context.Context, at Place) ([]Layer, error) {
	return LayersOf(ctx, p.runners[at])
}

// Together says whether two places have one runner.
func (p *Places) Together(a, b Place) bool { return p.runners[a] == p.runners[b] }

// Close implements Runner.
func (p *Places) Close() error {
	var err error
	var closed []Runner
	for _, r := range p.runners {
		if !slices.Contains(closed, r) {
			closed = append(closed, r)
			err = errors.Join(err, r.Close())
		}
	}
	return err
}
