package skillstest_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/skills/skillstest"
)

// A test plays the workflow of a skill with a model that answers from a table.
func ExamplePlay() {
	_ = func(t *testing.T) {
		k := skillstest.Load(t, "skills/triage")
		p := skillstest.Play(t, skillstest.Workflow(t, k), skillstest.Script{
			Params:  map[string]any{"repo": "o/r"},
			Tools:   map[string]skillstest.Tool{"github__list_issues": skillstest.Gives([]any{})},
			Answers: map[string]any{"rate": map[string]int{"level": 3}},
		})
		p.WantPath("rate")
		p.WantResult(map[string]int{"level": 3})
	}
}
