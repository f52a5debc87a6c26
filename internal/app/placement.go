package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
	"github.com/mcpbroker/mcpbroker/sandbox/remote"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// AllLanguages are all that scripts can be written in.
var AllLanguages = []sandbox.Language{sandbox.TypeScript, sandbox.JavaScript, sandbox.Python}

// A Placement is where scripts run: what the config wants, and what of it works
// on this machine.
type Placement struct {
	Settings config.Sandbox
	Absent   map[sandbox.Place]error // the places that do not work, and what to do about it
}

// NewPlacement looks for a container engine and its images. It runs at every start,
// because what clients are shown depends on it, and takes a few milliseconds where an
// engine answers. executable is as in docker.Options.
func NewPlacement(set config.Sandbox, executable string) *Placement {
	p := &Placement{Settings: set, Absent: make(map[sandbox.Place]error)}
	javaScript, python := CheckEngine(EngineAddress(set), set.Runner)
	if javaScript == nil && set.Runner != "node" {
		javaScript = docker.CheckExecutable(executable)
	}
	for _, language := range AllLanguages {
		at := sandbox.Place{Language: language, Isolation: sandbox.InContainer}
		err := javaScript
		if language == sandbox.Python {
			err = python
		}
		if err == nil {
			err = p.lacks(at)
		}
		if err != nil {
			p.Absent[at] = err
		}
	}
	for _, language := range AllLanguages[:2] {
		at := sandbox.Place{Language: language, Isolation: sandbox.InWorker}
		if err := p.lacks(at); err != nil {
			p.Absent[at] = err
		}
	}
	return p
}

// lacks returns an error if the config requires a layer that a place never has. Whether
// it has the others shows when it is used.
func (p *Placement) lacks(at sandbox.Place) error {
	missing := docker.LayerContainer
	switch {
	case at.Isolation == sandbox.InContainer && (at.Language == sandbox.Python || p.Settings.Runner == "node"):
		missing = sandbox.LayerLandlock
	case at.Isolation == sandbox.InContainer:
		return nil
	}
	if slices.Contains(p.Settings.Require, missing) {
		return fmt.Errorf("sandbox.require: layer %s is not available for %s in isolation %q", missing, at.Language, at.Isolation)
	}
	return nil
}

// lookForEngine is how long the start waits for a container engine to say that
// it is there, and then for what it says of each image.
const lookForEngine = time.Second

// EngineAddress returns where the container engine is.
func EngineAddress(set config.Sandbox) (at docker.Address) {
	if d := set.Docker; d != nil {
		at = docker.Address{Host: d.Host, CA: d.CA, Cert: d.Cert, Key: d.Key}
	}
	return at
}

// CheckEngine returns why JavaScript, with that runner, and Python do not run in
// containers, and what to do about it; nil if they do.
func CheckEngine(at docker.Address, runner string) (javaScript, python error) {
	kind := ""
	if runner == "node" {
		kind = runner
	}
	ask := func(f func(ctx context.Context) error) error {
		ctx, cancel := context.WithTimeoutCause(context.Background(), lookForEngine, fmt.Errorf("no answer within %v", lookForEngine))
		defer cancel()
		return f(ctx)
	}
	var m *docker.Manager
	err := ask(func(ctx context.Context) (err error) {
		m, err = docker.NewManager(ctx, at)
		return err
	})
	if err != nil {
		return engineError(err, kind), engineError(err, "python")
	}
	defer m.Close()
	var wg sync.WaitGroup
	if kind != "" {
		wg.Go(func() {
			javaScript = engineError(ask(func(ctx context.Context) error { return m.Has(ctx, docker.KindNode, "") }), kind)
		})
	}
	python = engineError(ask(func(ctx context.Context) error { return m.Has(ctx, docker.KindPython, "") }), "python")
	wg.Wait()
	return javaScript, python
}

// engineError words what an engine says about the image of a kind, which is
// empty if the broker makes it itself.
func engineError(err error, kind string) error {
	where := ""
	if missing, ok := errors.AsType[*docker.MissingEngine](err); ok && len(missing.Tried) == 1 { // the one that was named
		where = " at " + missing.Tried[0]
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, docker.ErrNoEngine) && kind == "":
		return fmt.Errorf("it needs a container engine, and none answers%s: start Docker or Podman, or set \"isolation\" of \"sandbox\" to \"worker\"", where)
	case errors.Is(err, docker.ErrNoEngine):
		return fmt.Errorf("it needs a container engine, and none answers%s: start Docker or Podman, then run: broker sandbox build %s", where, kind)
	case errors.Is(err, docker.ErrNoImage):
		return fmt.Errorf("its image is missing, run: broker sandbox build %s", kind)
	}
	return fmt.Errorf("the container engine does not work: %w", err)
}

// Default returns where scripts of a language run that name no isolation.
func (p *Placement) Default(language sandbox.Language) sandbox.Place {
	return sandbox.Place{Language: language, Isolation: sandbox.Isolation(p.Settings.IsolationOf(string(language)))}
}

// Unavailable returns why a language does not run; nil if it does.
func (p *Placement) Unavailable(language sandbox.Language) error {
	return p.Absent[p.Default(language)]
}

// Describe returns where scripts of a language run, as the config names it.
func (p *Placement) Describe(language sandbox.Language) string {
	isolation := p.Default(language).Isolation
	switch {
	case isolation == sandbox.InContainer && language != sandbox.Python && p.Settings.Runner == "node":
		return "container, in Node"
	case isolation == sandbox.InWorker && p.Settings.Remote != nil:
		return "worker, at sandboxd " + strings.Join(p.Settings.Remote.Addresses, ", ")
	case isolation == sandbox.InWorker && p.Settings.Isolation == "auto" && p.Settings.Languages[string(language)] == "":
		return "auto: worker"
	}
	return string(isolation)
}

// Languages returns the languages that run, and the reasons why the others do not.
func (p *Placement) Languages() (runs []sandbox.Language, reasons map[sandbox.Language]string) {
	reasons = make(map[sandbox.Language]string)
	for _, language := range AllLanguages {
		if err := p.Unavailable(language); err != nil {
			reasons[language] = err.Error()
		} else {
			runs = append(runs, language)
		}
	}
	return runs, reasons
}

// Isolations returns the isolations that each script may choose from, or none.
func (p *Placement) Isolations() []sandbox.Isolation {
	if !p.Settings.PerCall {
		return nil
	}
	var works []sandbox.Isolation
	for _, isolation := range []sandbox.Isolation{sandbox.InWorker, sandbox.InContainer} {
		if p.Absent[sandbox.Place{Language: sandbox.TypeScript, Isolation: isolation}] == nil {
			works = append(works, isolation)
		}
	}
	if len(works) < 2 {
		return nil
	}
	return works
}

// NewWorker returns a runner of scripts in processes of their own, here or at sandboxd,
// which must be of the same build.
func NewWorker(set config.Sandbox, build string, spares int, log *slog.Logger) sandbox.Runner {
	if set.Remote == nil {
		return worker.New(&worker.Options{Spares: spares, MemoryBytes: set.Memory, Require: set.Require, Logger: log})
	}
	return remote.New(remoteOptions(set, build, spares, log))
}

func remoteOptions(set config.Sandbox, build string, spares int, log *slog.Logger) remote.Options {
	r := set.Remote
	return remote.Options{
		Addresses: r.Addresses, Files: remote.Files{CA: r.CA, Cert: r.Cert, Key: r.Key},
		Spares: spares, Require: set.Require, Build: build, Logger: log,
	}
}

// Runners returns the runners of all places that a config uses. spares is the number of
// sandboxes kept ready; if it is negative, all places are included, because nothing is
// started before it is used.
func (p *Placement) Runners(build string, spares int, log *slog.Logger) *sandbox.Places {
	defaults := make(map[sandbox.Language]sandbox.Isolation)
	for _, language := range AllLanguages {
		defaults[language] = p.Default(language).Isolation
	}
	containers := docker.Options{Engine: EngineAddress(p.Settings), Spares: spares, MemoryBytes: p.Settings.Memory, Require: p.Settings.Require, Logger: log}
	runners := map[sandbox.Place]sandbox.Runner{
		{Language: sandbox.Python, Isolation: sandbox.InContainer}: docker.NewPython(&containers),
	}
	for _, isolation := range []sandbox.Isolation{sandbox.InWorker, sandbox.InContainer, sandbox.InProcess} {
		wanted := defaults[sandbox.TypeScript] == isolation || defaults[sandbox.JavaScript] == isolation
		if !wanted && (isolation == sandbox.InProcess || spares >= 0 && !p.Settings.PerCall) {
			continue
		}
		var r sandbox.Runner
		switch {
		case isolation == sandbox.InProcess:
			r = inproc.New()
		case isolation == sandbox.InContainer && p.Settings.Runner == "node":
			r = docker.NewNode(&containers)
		case isolation == sandbox.InContainer:
			r = docker.New(&containers)
		default:
			n := spares
			if !wanted {
				n = -1 // few scripts will ask for it
			}
			r = NewWorker(p.Settings, build, n, log)
		}
		for _, language := range AllLanguages[:2] {
			runners[sandbox.Place{Language: language, Isolation: isolation}] = r
		}
	}
	return sandbox.NewPlaces(defaults, runners)
}
