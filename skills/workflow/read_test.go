package workflow_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

// A mistake in a file is reported with its line and its path.
func TestMistakesInAFileNameTheirPlace(t *testing.T) {
	for definition, want := range map[string]string{
		``:                                     `it is empty`,
		`{"start": "a",`:                       `invalid JSON: it ends in the middle of a value`,
		"{\n\"start\" \"a\"}":                  `line 2: invalid JSON: invalid character '"' after object key`,
		`{"start": "a", "steps": {"a": {}}} x`: `invalid JSON: there is more after its end`,
		`[]`:                                   `line 1: got an array, want an object`,
		`{"Start": "a", "steps": {"a": {}}}`:   `line 1: unknown key "Start", did you mean "start"?`,
		`{"start": "a", "steps": {"a": {"xyz": 1}}}`:                                                        `line 1: steps.a: unknown key "xyz"; known keys are prompt, answer, action, save, next, maxVisits, onMaxVisits`,
		"{\"start\": \"a\",\n\"steps\": {\"a\": {},\n\"b\": {\"promt\": 1, \"maxVisits\": \"x\"}}}":         "line 3: steps.b: unknown key \"promt\", did you mean \"prompt\"?\nline 3: steps.b.maxVisits: got \"x\", want a whole number",
		`{"start": "a", "steps": {"a": {"maxVisits": 1.5}}}`:                                                `line 1: steps.a.maxVisits: got 1.5, want a whole number`,
		`{"start": "a", "steps": {"a": 3}}`:                                                                 `line 1: steps.a: got 3, want an object`,
		`{"start": "a", "steps": {"a": {"next": {"to": "done"}}}}`:                                          `line 1: steps.a.next: got an object, want the name of a step or an array of branches`,
		`{"start": "a", "steps": {"a": {"next": [{"to": "done", "when": {"path": "x", "abov": 1}}]}}}`:      `line 1: steps.a.next[0].when: unknown key "abov", did you mean "above"?`,
		`{"start": "a", "steps": {"a": {"next": [{"to": "done", "when": {"path": "x", "above": 1e999}}]}}}`: `line 1: steps.a.next[0].when.above: got 1e999, want a number`,
		`{"start": "a", "steps": {"a": {"prompt": ["x", {"ask-user": {"qestion": "x"}}]}}}`:                 `line 1: steps.a.prompt[1].ask-user: unknown key "qestion", did you mean "question"?`,
		`{"start": "a", "steps": {"a": {"action": {"tool": "t", "repeatable": "yes"}}}}`:                    `line 1: steps.a.action.repeatable: got "yes", want true or false`,
		`{"start": "a", "steps": {"a": {"use": "p"}}}`:                                                      `line 1: steps.a: unknown key "use"; known keys are prompt, answer, action, save, next, maxVisits, onMaxVisits`,
		`{"start": "a", "steps": {"a": {"prompt": "one"}, "a": {}}}`:                                        `line 1: steps: the key "a" occurs twice`,
		`{"start": "a", "steps": {"a": {"prompt": "one", "prompt": "two"}}}`:                                `line 1: steps.a: the key "prompt" occurs twice`,
		`{"start": "a", "steps": {"a": {"answer": {"properties": {"x": {}, "x": {"type": "string"}}}}}}`:    `line 1: steps.a.answer.properties: the key "x" occurs twice`,
		`{"start": "b9", "steps": {"aa": {"next": "bb"}, "b1": {}}}`: "start: there is no step \"b9\" (did you mean b1?)\n" +
			"step \"aa\" leads to \"bb\", which does not exist (did you mean b1?)",
	} {
		_, err := workflow.Parse([]byte(definition))
		if want = "workflow.json: " + want; err == nil || err.Error() != want {
			t.Errorf("Parse(%s):\n got %v\nwant %s", definition, err, want)
		}
	}
	if _, err := workflow.New(&workflow.Definition{Start: "a"}); err == nil || err.Error() != `workflow: start: there is no step "a"` {
		t.Errorf("New without a name: %v", err)
	}
}
