package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/app/identity"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// layerHint says what to do about a missing layer.
const layerHint = `broker doctor shows all layers; take out of "require" what this machine cannot have`

// CheckServing returns an error if a broker that serves clients would not work: its default
// language does not run, a layer is missing that the config requires, or servers need
// people who cannot sign in.
func (s *App) CheckServing(ctx context.Context) error {
	places, _ := s.DefaultPlaces()
	return cmp.Or(SettingError(identity.CheckPeople(s.Config, s.options.HTTPAddr)), requireLanguage(s.Config, s.Placement), s.RequireLayers(ctx, places...))
}

// requireLanguage refuses to go on if no script could run that names no language.
func requireLanguage(cfg *config.Config, where *Placement) error {
	language := cfg.Broker.WithDefaults().Language
	if err := where.Unavailable(sandbox.Language(language)); err != nil {
		return Usagef("", "%s: %s does not run here: %w", cfg.Path, language, err)
	}
	return nil
}

// RequireLayers refuses to go on if a place of the sandbox lacks a layer that the config
// requires: scripts would only fail one by one.
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
			return Usagef(layerHint, "%s: \"require\" of \"sandbox\": %w", s.Config.Path, missing)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// RequirePlace refuses to go on if a script could not run in a language and an isolation, or
// without a layer that the config requires. Either may be empty for the default.
func (s *App) RequirePlace(ctx context.Context, language, isolation string) error {
	short := map[string]sandbox.Language{"ts": sandbox.TypeScript, "js": sandbox.JavaScript, "py": sandbox.Python}
	name := strings.ToLower(cmp.Or(language, s.Config.Broker.WithDefaults().Language))
	at := s.Placement.Default(cmp.Or(short[name], sandbox.Language(name)))
	if isolation != "" {
		at.Isolation = sandbox.Isolation(isolation)
	}
	if err := s.Placement.Absent[at]; err != nil {
		if isolation == "" { // the answer says why
			return nil
		}
		return Usagef("", "--isolation %s: %s does not run there: %w", isolation, at.Language, err)
	}
	return s.RequireLayers(ctx, at)
}

// DefaultPlaces returns where scripts run of the languages that run here, each place once,
// with the languages that share it. Python's is left out: a container of it is only
// started for a script.
func (s *App) DefaultPlaces() (places []sandbox.Place, names [][]string) {
	for _, language := range AllLanguages {
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

// PrintLayers prints which layers contain scripts, and which are missing here, as soon as
// the first sandbox is ready. The function that it returns ends that.
func (s *App) PrintLayers(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		printLayers(ctx, s)
	}()
	return func() {
		cancel()
		<-done
	}
}

func printLayers(ctx context.Context, s *App) {
	o := &s.options
	places, names := s.DefaultPlaces()
	for i, at := range places {
		layers, err := s.Places.LayersAt(ctx, at)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			o.Logger.Error("start sandbox", "languages", strings.Join(names[i], ", "), "isolation", string(at.Isolation), "err", err)
			continue
		}
		where := ""
		if len(places) > 1 {
			where = fmt.Sprintf(" of %s (%s)", strings.Join(names[i], ", "), at.Isolation)
		}
		o.Print(fmt.Sprintf("broker: sandbox%s: %s", where, DescribeLayers(layers)))
	}
	for _, language := range AllLanguages {
		if err := s.Placement.Unavailable(language); err != nil {
			o.Print(fmt.Sprintf("broker: %s does not run here: %v", language, err))
		} else if language == sandbox.Python {
			o.Print("broker: sandbox of python (container): started for the first script")
		}
	}
}

// DescribeLayers returns all layers on one line.
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
