package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// RequireLayers refuses to go on when a place of the sandbox lacks a layer that
// the config requires: scripts would only fail one by one.
func (s *App) RequireLayers(ctx context.Context, places ...sandbox.Place) error {
	required := s.Config.Broker.Sandbox.Require
	if len(required) == 0 {
		return nil
	}
	for _, at := range places {
		layers, err := s.Places.LayersAt(ctx, at)
		if err == nil {
			err = sandbox.RequireLayers(layers, required)
		}
		if missing, ok := errors.AsType[*sandbox.LayerError](err); ok {
			return cli.Usagef("%s: \"require\" of \"sandbox\": %w\nhint: %s", s.Config.Path, missing, layerHint)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// DefaultPlaces are where scripts of the languages that run here run, each once,
// with all that share it. Python's is left out: a container of it is only
// started for a script.
func (s *App) DefaultPlaces() (places []sandbox.Place, names [][]string) {
	for _, language := range application.AllLanguages {
		at := s.Places.Usual(language)
		if language == sandbox.Python || s.Placement.Unavailable(language) != nil {
			continue
		}
		i := slices.IndexFunc(places, func(p sandbox.Place) bool { return s.Places.Together(p, at) })
		if i < 0 {
			places, names = append(places, at), append(names, nil)
			i = len(places) - 1
		}
		names[i] = append(names[i], string(language))
	}
	return places, names
}

const layerHint = `broker doctor shows all layers; take out of "require" what this machine cannot have`

// logLayers says which layers contain scripts, and which are missing here, as
// soon as the first sandbox is ready. The function that it returns ends that.
func (a *app) logLayers(ctx context.Context, s *App) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		places, names := s.DefaultPlaces()
		for i, at := range places {
			layers, err := s.Places.LayersAt(ctx, at)
			if err != nil {
				if ctx.Err() != nil {
					return
				}
				a.logger().Error("start sandbox", "languages", strings.Join(names[i], ", "), "isolation", string(at.Isolation), "err", err)
				continue
			}
			whose := ""
			if len(places) > 1 {
				whose = fmt.Sprintf(" of %s (%s)", strings.Join(names[i], ", "), at.Isolation)
			}
			cli.Fprintf(a.Err, "broker: sandbox%s: %s\n", whose, DescribeLayers(layers))
		}
		for _, language := range application.AllLanguages {
			if err := s.Placement.Unavailable(language); err != nil {
				cli.Fprintf(a.Err, "broker: %s does not run here: %v\n", language, err)
			} else if language == sandbox.Python {
				cli.Fprintln(a.Err, "broker: sandbox of python (container): started for the first script")
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// DescribeLayers is one line with all layers.
func DescribeLayers(layers []sandbox.Layer) string {
	var active, missing []string
	for _, l := range layers {
		if l.Active {
			active = append(active, l.Name)
		} else {
			missing = append(missing, l.Name+" ("+l.Detail+")")
		}
	}
	if len(active) == 0 {
		return "none: scripts run in this process and must be trusted"
	}
	text := strings.Join(active, ", ")
	if len(missing) > 0 {
		text += "; missing: " + strings.Join(missing, ", ")
	}
	return text
}

// checkLayers returns one check for each layer of each place of the sandbox. A missing
// one is only an error if the config requires it.
func checkLayers(ctx context.Context, s *App) []check {
	var checks []check
	places, names := s.DefaultPlaces()
	for i, at := range places {
		whose := ""
		if len(places) > 1 {
			whose = " (" + strings.Join(names[i], ", ") + ")"
		}
		checks = append(checks, checkLayersAt(ctx, s, at, whose)...)
	}
	return checks
}

func checkLayersAt(ctx context.Context, s *App, at sandbox.Place, whose string) []check {
	layers, err := s.Places.LayersAt(ctx, at)
	if err == nil {
		err = sandbox.RequireLayers(layers, s.Config.Broker.Sandbox.Require)
	}
	if missing, ok := errors.AsType[*sandbox.LayerError](err); ok {
		return []check{{Name: "sandbox layers" + whose, Detail: missing.Error(), Hint: "remove from \"require\" what this machine does not support, or fix what the reason names"}}
	}
	if err != nil {
		return nil // the small script of checkSandbox says why
	}
	if len(layers) == 0 {
		return []check{{Name: "sandbox layers" + whose, OK: true, Detail: DescribeLayers(layers), Hint: `"isolation": "auto" contains scripts`}}
	}
	var checks []check
	for _, l := range layers {
		c := check{Name: "sandbox layer " + l.Name + whose, OK: true, Detail: l.Detail}
		if !l.Active {
			c.Detail = "missing: " + l.Detail
		}
		checks = append(checks, c)
	}
	return checks
}
