package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNoValue is wrapped by errors of View.Get.
var ErrNoValue = errors.New("there is no such value")

// A View is what the functions of a definition see of a session. It shows
// copies: changing them has no effect. It is valid during the call.
type View struct {
	st *state
}

// Get reads the value of a path, such as "params.repo", "answer.level",
// "steps.fetch.0.title", "store.env.host" or "result", into to like json.Unmarshal. The
// error wraps ErrNoValue if it does not exist.
func (v *View) Get(path string, to any) error {
	value, ok := v.st.find(path)
	if !ok {
		return fmt.Errorf("%s: %w", path, ErrNoValue)
	}
	if err := json.Unmarshal(encode(value), to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Text returns the value of a path in the form of {{path}}: a string unchanged,
// anything else as JSON, and nothing if it does not exist.
func (v *View) Text(path string) string {
	value, _ := v.st.find(path)
	return written(value)
}

// Visits is how often the step has been visited, this time included.
func (v *View) Visits() int { return v.st.visits[v.st.at] }
