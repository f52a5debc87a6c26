package workflow_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

// A mistake in a file is told by the step and the key, in words for people.
func TestMistakesInAFileNameTheirPlace(t *testing.T) {
	for definition, want := range map[string]string{
		``:                                   `it is empty`,
		`{"start": "a",`:                     `it is no JSON: it ends in the middle of a value`,
		"{\n\"start\" \"a\"}":                `line 2: it is no JSON: invalid character '"' after object key`,
		`[]`:                                 `line 1: a workflow takes an object; got a list`,
		`{"Start": "a", "steps": {"a": {}}}`: `line 1: there is no key "Start": did you mean start?`,
		`{"start": "a", "steps": {"a": {"xyz": 1}}}`:                                                                  `line 1: step "a": there is no key "xyz"; there are prompt, answer, action, save, use, next, maxVisits, onMaxVisits`,
		"{\"start\": \"a\",\n\"steps\": {\"a\": {},\n\"b\": {\"promt\": 1, \"maxVisits\": \"x\"}}}":                   "line 3: step \"b\": there is no key \"promt\": did you mean prompt?\nline 3: step \"b\": maxVisits takes a whole number; got \"x\"",
		`{"start": "a", "steps": {"a": {"maxVisits": 1.5}}}`:                                                          `line 1: step "a": maxVisits takes a whole number; got 1.5`,
		`{"start": "a", "steps": {"a": 3}}`:                                                                           `line 1: step "a" takes an object; got 3`,
		`{"start": "a", "steps": {"a": {"next": {"to": "done"}}}}`:                                                    `line 1: step "a": next takes the name of a step or a list of branches; got an object`,
		`{"start": "a", "steps": {"a": {"next": [{"to": "done", "when": {"path": "x", "abov": 1}}]}}}`:                `line 1: step "a": next[0].when: there is no key "abov": did you mean above?`,
		`{"start": "a", "steps": {"a": {"next": [{"to": "done", "when": {"path": "x", "above": 1e999}}]}}}`:           `line 1: step "a": next[0].when.above takes a number; got 1e999`,
		`{"start": "a", "steps": {"a": {"prompt": ["x", {"ask-user": {"qestion": "x"}}]}}}`:                           `line 1: step "a": prompt[1].ask-user: there is no key "qestion": did you mean question?`,
		`{"start": "a", "steps": {"a": {"action": {"tool": "t", "repeatable": "yes"}}}}`:                              `line 1: step "a": action.repeatable takes true or false; got "yes"`,
		`{"start": "a", "steps": {"a": {"use": "p"}}, "parts": {"p": {"start": "b", "steps": {"b": {"saves": {}}}}}}`: `line 1: part "p": step "b": there is no key "saves": did you mean save?`,
		`{"start": "a", "steps": {"a": {}}, "subskills": {"s": {"workflow": {"start": "b", "steps": {"b": []}}}}}`:    `line 1: subskill "s": step "b" takes an object; got a list`,
		`{"start": "a", "steps": {"a": {"prompt": "one"}, "a": {}}}`:                                                  `line 1: steps: the key "a" stands there twice`,
		`{"start": "a", "steps": {"a": {"prompt": "one", "prompt": "two"}}}`:                                          `line 1: step "a": the key "prompt" stands there twice`,
		`{"start": "a", "steps": {"a": {"answer": {"properties": {"x": {}, "x": {"type": "string"}}}}}}`:              `line 1: step "a": answer.properties: the key "x" stands there twice`,
		`{"start": "b9", "steps": {"aa": {"next": "bb"}, "b1": {"use": "q9"}, "b2": {"use": "q1", "prompt": "x"}, "bc": {"use": "q1"}}, "parts": {"q1": {"start": "x", "steps": {"x": {}}}}}`: "start: there is no step \"b9\" (did you mean b1?)\n" +
			"step \"b1\": use: there is no part \"q9\" (did you mean q1?)\n" +
			"step \"b2\": it uses a part and has prompt of its own: write one of them\n" +
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
