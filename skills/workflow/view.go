package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNoValue is wrapped by errors of View.Get.
var ErrNoValue = errors.New("there is no such value")

// A View is what the functions of a definition see of a session. It shows
// copies: what is done to them changes nothing. It is valid during the call.
type View struct {
	scope scope
}

// Get reads the value of a path, such as "params.repo", "answer.level",
// "steps.fetch.0.title", "store.environment.host" or "result", into to like
// json.Unmarshal. An error wraps ErrNoValue if there is none.
func (v *View) Get(path string, to any) error {
	value, ok := v.scope.find(path)
	if !ok {
		return fmt.Errorf("%s: %w", path, ErrNoValue)
	}
	if err := json.Unmarshal(encode(value), to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Has reports whether a path has a value.
func (v *View) Has(path string) bool {
	_, ok := v.scope.find(path)
	return ok
}

// Text is the value of a path as {{path}} writes it: a text as it is, anything
// else as JSON, and nothing where there is none.
func (v *View) Text(path string) string {
	value, _ := v.scope.find(path)
	return written(value)
}

// Visits is how often the step has been come to, this time included.
func (v *View) Visits() int { return v.scope.visits[v.scope.at] }

// Host is the program that the model runs in.
func (v *View) Host() Host { return v.scope.host }

// HasTool reports whether there is a tool: one of the host, or one that actions
// can call.
func (v *View) HasTool(name string) bool { return v.scope.host.has(name) }
