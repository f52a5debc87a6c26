package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

const help = `{
  "name": "help", "system": "Be kind.", "start": "classify",
  "params": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
  "steps": {
    "classify": {"prompt": "What does {{params.query}} mean?", "answer": {"type": "object", "properties": {"intent": {"type": "string"}}, "required": ["intent"]},
      "next": [
        {"when": {"path": "answer.intent", "equals": "doctor"}, "to": "get-space"},
        {"when": {"path": "answer.intent", "equals": "limits"}, "to": "topic:rate-limits"},
        {"when": {"path": "answer.intent", "equals": "locales"}, "to": "topic:locales"},
        {"when": {"path": "answer.intent", "equals": "bad"}, "to": "subskill:doctor", "with": {}},
        {"to": "skill:support", "with": {"query": "{{params.query}}"}}]},
    "get-space": {"prompt": "Which space?", "next": "subskill:doctor"}
  },
  "subskills": {"doctor": {"params": {"space": "{{steps.get-space.space}}"}, "workflow": {
    "system": "Be thorough.", "start": "diagnose", "params": {"type": "object", "properties": {"space": {"type": "string"}}, "required": ["space"]},
    "steps": {
      "diagnose": {"prompt": "Diagnose {{params.space}}.{{params.query}}{{steps.classify.intent}}", "next": [{"when": {"path": "answer.again", "exists": true}, "to": "self"}, {"to": "report"}]},
      "report": {"prompt": "Report {{steps.diagnose.found}} after {{visits.diagnose}} visits: {{all.diagnose.0.again}}."}
    },
    "result": {"report": "{{answer}}", "of": "{{params.space}}"}}}},
  "topics": {"rate-limits": {"label": "Limits", "file": "references/limits.md"}, "locales": {"text": "Locales are codes."}}
}`

// A subskill goes on in the same session, and nothing of the workflow is seen in
// it but what it was given.
func TestASubskillGoesOnInTheSameSession(t *testing.T) {
	e := engine(t, help, nil)
	r := e.Start(t.Context(), json.RawMessage(`{"query":"broken"}`))
	id := r.Session
	want(t, "start", r, `{"status":"prompt","step":"classify","preamble":"<system>Be kind.</system>","prompt":"What does broken mean?","schema":{"type":"object","properties":{"intent":{"type":"string"}},"required":["intent"]}}`)
	advance := func(answer string) workflow.Result {
		return e.Advance(t.Context(), id, workflow.Reply{Answer: json.RawMessage(answer)})
	}
	want(t, "in the workflow", advance(`{"intent":"doctor"}`), `{"status":"prompt","step":"get-space","prompt":"Which space?"}`)
	want(t, "into the subskill", advance(`{"space":"abc"}`), `{"status":"prompt","step":"doctor/diagnose","preamble":"<system>Be thorough.</system>","prompt":"Diagnose abc."}`)
	want(t, "itself", advance(`{"again":true}`), `{"status":"prompt","step":"doctor/diagnose","prompt":"Diagnose abc."}`)
	want(t, "on", advance(`{"found":"rust"}`), `{"status":"prompt","step":"doctor/report","prompt":"Report rust after 2 visits: true."}`)
	want(t, "the end", advance(`"done"`), `{"status":"done","result":{"of":"abc","report":"done"}}`)
	want(t, "begun by itself", e.StartSubskill(t.Context(), "doctor", json.RawMessage(`{"space":"x"}`)),
		`{"status":"prompt","step":"doctor/diagnose","preamble":"<system>Be thorough.</system>","prompt":"Diagnose x."}`)
	want(t, "a wrong name", e.StartSubskill(t.Context(), "docter", nil), `{"status":"error","message":"there is no subskill \"docter\": did you mean doctor?","retry":false}`)
	want(t, "wrong params", e.StartSubskill(t.Context(), "doctor", nil), `{"status":"error","message":"params: \"space\" is missing","retry":true}`)
}

func TestWhereAWorkflowEnds(t *testing.T) {
	o := &workflow.Options{Read: func(_ context.Context, path string) (string, error) {
		if path != "references/limits.md" {
			return "", errors.New("no file " + path)
		}
		return "Seven a second.", nil
	}}
	for _, c := range []struct{ intent, want string }{
		{"limits", `{"status":"done","result":{"content":"Seven a second.","topic":"rate-limits"}}`},
		{"locales", `{"status":"done","result":{"content":"Locales are codes.","topic":"locales"}}`},
		{"other", `{"status":"redirect","skill":"support","input":{"query":"q"}}`},
		{"bad", `{"status":"error","step":"classify","message":"the params of subskill \"doctor\": \"space\" is missing","retry":false}`},
	} {
		e := engine(t, help, o)
		r := e.Start(t.Context(), json.RawMessage(`{"query":"q"}`))
		want(t, c.intent, e.Advance(t.Context(), r.Session, workflow.Reply{Answer: json.RawMessage(`{"intent":"` + c.intent + `"}`)}), c.want)
		if over := e.Advance(t.Context(), r.Session, workflow.Reply{}); !strings.Contains(over.Message, "the session is over") {
			t.Errorf("%s: after the end: %s", c.intent, show(over))
		}
	}
	e := engine(t, help, o)
	want(t, "a topic", e.Topic(t.Context(), "locales"), `{"status":"done","result":{"content":"Locales are codes.","topic":"locales"}}`)
	want(t, "an unknown one", e.Topic(t.Context(), "local"), `{"status":"error","message":"there is no topic \"local\": did you mean locales?","retry":false}`)
	want(t, "a file that nobody reads", engine(t, help, nil).Topic(t.Context(), "rate-limits"),
		`{"status":"error","message":"topic \"rate-limits\" is in the file references/limits.md, and files cannot be read here","retry":true}`)
	if diff := cmp.Diff([]string{"start", "advance", "topic", "doctor/start"}, workflow.ToolNames(e.Workflow())); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func TestWrongTargetsAreRefused(t *testing.T) {
	for definition, want := range map[string]string{
		`{"start": "a", "steps": {"a": {"next": "subskill:x"}}}`:                                                                                                                          `the subskill "x", which does not exist`,
		`{"start": "a", "steps": {"a": {"next": "topic:x"}}}`:                                                                                                                             `the topic "x", which does not exist`,
		`{"start": "a", "steps": {"a": {"next": "skill:"}}}`:                                                                                                                              `the skill "", which does not exist`,
		`{"start": "a", "steps": {"a": {}}, "subskills": {"a": {"workflow": {"start": "b", "steps": {"b": {}}}}}}`:                                                                        "has the name of a step",
		`{"start": "a", "steps": {"a": {}}, "subskills": {"s": {"workflow": {"start": "b", "steps": {"b": {"next": "subskill:s"}}}}}}`:                                                    "cannot lead to another one",
		`{"start": "a", "steps": {"a": {}}, "subskills": {"s": {"workflow": {"start": "b", "steps": {"b": {}}, "subskills": {"t": {"workflow": {"start": "c", "steps": {"c": {}}}}}}}}}`:  "only the workflow itself can have",
		`{"start": "a", "steps": {"a": {}}, "subskills": {"s": {}}}`:                                                                                                                      "has no workflow",
		`{"start": "a", "steps": {"a": {}}, "topics": {"t": {"text": "x", "file": "y"}}}`:                                                                                                 "either a text or a file",
		`{"start": "a", "steps": {"a": {"next": [{"to": "done", "with": {}}]}}}`:                                                                                                          "that nobody takes",
		`{"start": "a", "steps": {"a": {"next": [{"to": "done", "wehn": {}}]}}}`:                                                                                                          "wehn",
		`{"start": "a", "steps": {"self": {}, "a": {}}}`:                                                                                                                                  `"self" cannot be a step`,
		`{"start": "a", "steps": {"a": {}}} x`:                                                                                                                                            "behind the end",
		`{"start": "a", "steps": {"a": {"use": "p"}}, "parts": {"p": {"start": "b", "steps": {"b": {}}, "stores": {"s": {}}}}}`:                                                           `step "a": the part that it uses cannot have stores of its own`,
		`{"start": "a", "steps": {"a": {"use": "p"}}, "parts": {"p": {"start": "b", "steps": {"b": {}}, "system": "s", "preamble": "p", "params": {}, "result": 1, "resultSchema": {}}}}`: "cannot have system, preamble, params, result, resultSchema of its own",
	} {
		if _, err := workflow.Parse([]byte(definition)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s) = %v, want %q in it", definition, err, want)
		}
	}
}
