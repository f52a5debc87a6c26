package doctor

import (
	"context"
	"errors"
	"strings"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// checkLayers returns one check for each layer of each place of the sandbox. A missing
// one is only an error if the config requires it.
func checkLayers(ctx context.Context, s *application.App) []Check {
	var checks []Check
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

func checkLayersAt(ctx context.Context, s *application.App, at sandbox.Place, whose string) []Check {
	layers, err := s.Places.LayersAt(ctx, at)
	if err == nil {
		err = sandbox.RequireLayers(layers, s.Config.Broker.Sandbox.Require)
	}
	if missing, ok := errors.AsType[*sandbox.LayerError](err); ok {
		return []Check{{Name: "sandbox layers" + whose, Detail: missing.Error(), Hint: "remove from \"require\" what this machine does not support, or fix what the reason names"}}
	}
	if err != nil {
		return nil // the small script of checkSandbox says why
	}
	if len(layers) == 0 {
		return []Check{{Name: "sandbox layers" + whose, OK: true, Detail: application.DescribeLayers(layers), Hint: `"isolation": "auto" contains scripts`}}
	}
	var checks []Check
	for _, l := range layers {
		c := Check{Name: "sandbox layer " + l.Name + whose, OK: true, Detail: l.Detail}
		if !l.Active {
			c.Detail = "missing: " + l.Detail
		}
		checks = append(checks, c)
	}
	return checks
}
