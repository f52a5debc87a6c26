package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// requireLayers refuses to go on when the sandbox lacks a layer that the config
// requires: scripts would only fail one by one.
func (s *session) requireLayers(ctx context.Context) error {
	required := s.config.Broker.Sandbox.Require
	if len(required) == 0 {
		return nil
	}
	layers, err := sandbox.LayersOf(ctx, s.runner)
	if err == nil {
		err = sandbox.RequireLayers(layers, required)
	}
	if missing, ok := errors.AsType[*sandbox.LayerError](err); ok {
		return usage("%s: \"require\" of \"sandbox\": %w\nhint: %s", s.config.Path, missing, layerHint)
	}
	return err
}

const layerHint = `broker doctor shows all layers; take out of "require" what this machine cannot have`

// logLayers says which layers contain scripts, and which are missing here, as
// soon as the first sandbox is ready. The function that it returns ends that.
func (a *app) logLayers(ctx context.Context, s *session) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		layers, err := sandbox.LayersOf(ctx, s.runner)
		if err != nil {
			if ctx.Err() == nil {
				a.logger().Error("start sandbox", "err", err)
			}
			return
		}
		fmt.Fprintln(a.stderr, "broker: sandbox: "+describeLayers(layers))
	}()
	return func() {
		cancel()
		<-done
	}
}

// describeLayers is one line with all layers.
func describeLayers(layers []sandbox.Layer) string {
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

// checkLayers is one check for each layer of the sandbox. A missing one is no
// fault unless the config requires it.
func checkLayers(ctx context.Context, s *session) []check {
	layers, err := sandbox.LayersOf(ctx, s.runner)
	if err == nil {
		err = sandbox.RequireLayers(layers, s.config.Broker.Sandbox.Require)
	}
	if missing, ok := errors.AsType[*sandbox.LayerError](err); ok {
		return []check{{Name: "sandbox layers", Detail: missing.Error(), Hint: "take out of \"require\" what this machine cannot have, or mend what the reason names"}}
	}
	if err != nil {
		return nil // the small script of checkSandbox says why
	}
	if len(layers) == 0 {
		return []check{{Name: "sandbox layers", OK: true, Detail: describeLayers(layers), Hint: `"isolation": "auto" contains scripts`}}
	}
	var checks []check
	for _, l := range layers {
		c := check{Name: "sandbox layer " + l.Name, OK: true, Detail: l.Detail}
		if !l.Active {
			c.Detail = "missing: " + l.Detail
		}
		checks = append(checks, c)
	}
	return checks
}
