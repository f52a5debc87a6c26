package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

// help is a workflow with two subskills and two topics.
const help = `{"start": "what", "preamble": "Help.", "params": {"type": "object", "properties": {"os": {"type": "string"}}},
	"steps": {
		"what": {"prompt": "What does the user of {{params.os}} want?", "answer": {"type": "object", "required": ["want"]}, "next": [
			{"when": {"path": "answer.want", "equals": "repair"}, "to": "subskill:doctor"},
			{"when": {"path": "answer.want", "equals": "setup"}, "to": "subskill:setup", "with": {"editor": "{{answer.editor}}"}},
			{"when": {"path": "answer.want", "equals": "limits"}, "to": "topic:limits"},
			{"to": "topic:style"}]}},
	"subskills": {
		"doctor": {"params": {"os": "{{params.os}}", "asked": "{{steps.what.want}}"}, "workflow": {"start": "look", "preamble": "You are a doctor.",
			"params": {"type": "object", "properties": {"os": {"type": "string"}, "asked": {}}},
			"steps": {"look": {"prompt": "Look at {{params.os}}{{steps.what.want}}.", "maxVisits": 2, "next": [{"when": {"path": "answer.n", "above": 1}, "to": "self"}, {"to": "what"}]},
				"what": {"prompt": "{{visits.look}} looks, {{all.look.0.n}} and {{steps.look.n}}."}},
			"result": {"asked": "{{params.asked}}", "said": "{{answer}}"}}},
		"setup": {"workflow": {"start": "go", "params": {"type": "object", "required": ["editor"], "properties": {"editor": {"type": "string"}}},
			"steps": {"go": {"prompt": "Set up {{params.editor}}.", "next": "topic:limits"}}}}},
	"topics": {"limits": {"label": "how much", "file": "references/limits.md"}, "style": {"text": "Short."}}}`

func reply(value string) workflow.Reply { return workflow.Reply{Answer: json.RawMessage(value)} }

// A session goes on in a subskill with values of its own, and ends where it ends.
func TestSubskillsAndTopics(t *testing.T) {
	var reads int
	e := engine(t, help, &workflow.Options{Read: func(_ context.Context, path string) (string, error) {
		if reads++; reads == 2 {
			return "", errors.New("busy")
		}
		return "10 of " + path, nil
	}})
	begin := func() string { return e.Start(t.Context(), json.RawMessage(`{"os":"Linux"}`)).Session }
	id := begin()
	want(t, "entered", e.Advance(t.Context(), id, reply(`{"want":"repair"}`)), `{"status":"prompt","step":"doctor/look","preamble":"You are a doctor.","prompt":"Look at Linux."}`)
	want(t, "itself", e.Advance(t.Context(), id, reply(`{"n":2}`)), `{"status":"prompt","step":"doctor/look","prompt":"Look at Linux."}`)
	want(t, "a wrong step", e.Advance(t.Context(), id, workflow.Reply{Step: "doctor/lok"}), `{"status":"error","step":"doctor/look","message":"the session is at step \"doctor/look\", not at \"doctor/lok\", which does not exist (did you mean doctor/look?)","retry":true}`)
	want(t, "its own step", e.Advance(t.Context(), id, reply(`{"n":1}`)), `{"status":"prompt","step":"doctor/what","prompt":"2 looks, 2 and 1."}`)
	want(t, "its result", e.Advance(t.Context(), id, reply(`"ok"`)), `{"status":"done","result":{"asked":"repair","said":"ok"}}`)

	id = begin()
	want(t, "with", e.Advance(t.Context(), id, reply(`{"want":"setup","editor":"vi"}`)), `{"status":"prompt","step":"setup/go","prompt":"Set up vi."}`)
	want(t, "a topic after it", e.Advance(t.Context(), id, reply(`1`)), `{"status":"done","result":{"content":"10 of references/limits.md","topic":"limits"}}`)

	id = begin()
	want(t, "a busy file", e.Advance(t.Context(), id, reply(`{"want":"limits"}`)), `{"status":"error","step":"what","message":"topic \"limits\": busy","retry":true}`)
	want(t, "again", e.Advance(t.Context(), id, workflow.Reply{}), `{"status":"done","result":{"content":"10 of references/limits.md","topic":"limits"}}`)
	want(t, "over", e.Advance(t.Context(), id, workflow.Reply{}), `{"status":"error","message":"the session is over: start another one","retry":false}`)
	want(t, "wrong params", e.Advance(t.Context(), begin(), reply(`{"want":"setup","editor":5}`)), `{"status":"error","step":"what","message":"the params of subskill \"setup\": \"editor\": takes a string; got 5","retry":false}`)
}

// Subskills are started and topics looked up by themselves.
func TestDirectEntry(t *testing.T) {
	e := engine(t, help, nil)
	if diff := cmp.Diff([]string{"start", "advance", "topic", "doctor/start", "setup/start"}, e.Workflow().Tools()); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	r := e.StartSubskill(t.Context(), "doctor", json.RawMessage(`{"os":"Plan 9"}`))
	want(t, "started", r, `{"status":"prompt","step":"doctor/look","preamble":"You are a doctor.","prompt":"Look at Plan 9."}`)
	want(t, "no param", e.StartSubskill(t.Context(), "setup", nil), `{"status":"error","message":"params: \"editor\" is missing","retry":true}`)
	want(t, "unknown", e.StartSubskill(t.Context(), "docter", nil), `{"status":"error","message":"unknown subskill \"docter\": did you mean doctor?","retry":false}`)
	want(t, "the whole", e.StartSubskill(t.Context(), "", nil), `{"status":"error","message":"unknown subskill \"\"; there are doctor, setup","retry":false}`)
	want(t, "a topic", e.Topic(t.Context(), "style"), `{"status":"done","result":{"content":"Short.","topic":"style"}}`)
	want(t, "no such topic", e.Topic(t.Context(), "limit"), `{"status":"error","message":"unknown topic \"limit\": did you mean limits?","retry":false}`)
	want(t, "no files", e.Topic(t.Context(), "limits"), `{"status":"error","message":"topic \"limits\" is in the file references/limits.md, and files cannot be read here","retry":true}`)
	big := engine(t, help, &workflow.Options{Read: func(context.Context, string) (string, error) { return strings.Repeat("x", 3<<20), nil }})
	if r := big.Topic(t.Context(), "limits"); !strings.Contains(r.Message, "2 MiB") {
		t.Errorf("a large topic: %.200s", show(r))
	}
}

// A session in a subskill goes on from its events alone, with another engine.
func TestASessionInASubskillIsResumed(t *testing.T) {
	kept := workflow.NewMemory()
	fresh := func() *workflow.Engine { return engine(t, help, &workflow.Options{Sessions: kept}) }
	id := fresh().Start(t.Context(), json.RawMessage(`{"os":"Linux"}`)).Session
	fresh().Advance(t.Context(), id, reply(`{"want":"repair"}`))
	want(t, "repeated", fresh().Advance(t.Context(), id, workflow.Reply{}), `{"status":"prompt","step":"doctor/look","preamble":"You are a doctor.","prompt":"Look at Linux."}`)
	fresh().Advance(t.Context(), id, reply(`{"n":7}`))
	want(t, "its values", fresh().Advance(t.Context(), id, reply(`{"n":1}`)), `{"status":"prompt","step":"doctor/what","prompt":"2 looks, 7 and 1."}`)
	if err := kept.Append(id, workflow.Event{Kind: workflow.Entered, Step: "nowhere"}); err != nil {
		t.Fatal(err)
	}
	want(t, "damaged", fresh().Advance(t.Context(), id, workflow.Reply{}), `{"status":"error","message":"the session is damaged: start another one","retry":false}`)
}

// What is wrong with a composite workflow names the subskill.
func TestWrongCompositesAreRefused(t *testing.T) {
	const step = `"start": "a", "steps": {"a": {}}`
	for definition, want := range map[string]string{
		`{` + step + `, "subskills": {"s": {"workflow": {"start": "a", "steps": {"a": {"next": "subskill:s"}}}}}}`:                                    `[subskill:s] step "s/a" leads to "subskill:s": a subskill leads neither to itself nor to another one`,
		`{` + step + `, "subskills": {"s": {"workflow": {"start": "a", "steps": {"a": {"next": "subskill:b"}}}}, "b": {"workflow": {` + step + `}}}}`: `[subskill:s] step "s/a" leads to "subskill:b": a subskill leads`,
		`{` + step + `, "subskills": {"s": {"workflow": {"start": "a", "steps": {"a": {"next": "bc"}, "bcd": {"answer": {"type": 1}}}}}}}`:            `[subskill:s] step "s/a" leads to "bc", which does not exist (did you mean bcd?)`,
		`{` + step + `, "subskills": {"s": {"workflow": {"start": "x", "params": {"type": 1}, "steps": {}}}}}`:                                        `[subskill:s] start: there is no step "x"`,
		`{` + step + `, "subskills": {"s": {"workflow": {` + step + `, "subskills": {"t": {"workflow": {` + step + `}}}}}}}`:                          `[subskill:s] it has subskills or topics`,
		`{` + step + `, "subskills": {"s": {"workflow": {` + step + `, "topics": {"t": {"text": "x"}}}}}}`:                                            `[subskill:s] it has subskills or topics`,
		"{" + step + ", \"subskills\": {\"s\": {\"workflow\": {\n" + step + ", \"stepz\": {}}}}}":                                                     "line 2: [subskill:s] unknown key \"stepz\", did you mean \"steps\"?",
		`{` + step + `, "subskills": {"s": {"workflow": {"start": "a", "steps": {"a": {}, "a": {}}}}}}`:                                               `line 1: [subskill:s] steps: the key "a" occurs twice`,
		`{` + step + `, "subskills": {"s": {"workflow": {` + step + `}}, "s": {"workflow": {` + step + `}}}}`:                                         `line 1: subskills: the key "s" occurs twice`,
		`{` + step + `, "topics": {"t": {"text": "x"}, "t": {"text": "y"}}}`:                                                                          `line 1: topics: the key "t" occurs twice`,
		`{"start": "a", "steps": {"a": {"next": "topic:lmits"}}, "topics": {"limits": {"text": "x"}}}`:                                                `step "a" leads to "topic:lmits", which does not exist (did you mean limits?)`,
		`{"start": "a", "steps": {"a": {"next": "subskill:docter"}}, "subskills": {"doctor": {"workflow": {` + step + `}}}}`:                          `leads to "subskill:docter", which does not exist (did you mean doctor?)`,
		`{"start": "a", "steps": {"a": {"next": "topic:"}}}`:                                                                                          `leads to "topic:", which names no topic`,
		`{"start": "a", "steps": {"a": {"onMaxVisits": "subskill:x"}}}`:                                                                               `leads to "subskill:x", which does not exist`,
		`{"start": "a", "steps": {"a": {"next": [{"to": "topic:t", "with": {}}]}}, "topics": {"t": {"text": "x"}}}`:                                   `has a with, which only a skill uses, or a subskill`,
		`{` + step + `, "subskills": {"a": {"workflow": {` + step + `}}}}`:                                                                            `subskill "a" has the name of a step`,
		`{` + step + `, "subskills": {"s/t": {"workflow": {` + step + `}}}}`:                                                                          `"s/t" cannot be a subskill`,
		`{` + step + `, "subskills": {"s\n": {"workflow": {` + step + `}}}}`:                                                                          `"s\n" cannot be a subskill`,
		`{` + step + `, "subskills": {"` + strings.Repeat("s", 101) + `": {"workflow": {` + step + `}}}}`:                                             `cannot be a subskill: it needs a name of at most 100`,
		`{` + step + `, "subskills": {"s": {"workflow": {"start": "x/y", "steps": {"x/y": {}}}}}}`:                                                    `[subskill:s] "x/y" cannot be a step`,
		`{` + step + `, "subskills": {"s": {}}}`:                                                                                                      `subskill "s" has no workflow`,
		`{` + step + `, "topics": {"t": {}}}`:                                                                                                         `topic "t" needs either a text or a file`,
		`{` + step + `, "topics": {"t": {"text": "x", "file": "y"}}}`:                                                                                 `topic "t" needs either a text or a file`,
		`{` + step + `, "topics": {"t/u": {"text": "x"}}}`:                                                                                            `"t/u" cannot be a topic`,
	} {
		if _, err := workflow.Parse([]byte(definition)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s):\n got %v\nwant %s", definition, err, want)
		}
	}
}

// Lint looks at subskills and topics too.
func TestLintOfComposites(t *testing.T) {
	w, err := workflow.Parse([]byte(`{"start": "a", "params": {"properties": {"p": {}}}, "steps": {"a": {"prompt": "{{params.q}} {{steps.x.y}}", "next": [{"when": {"path": "answer", "equals": 1}, "to": "subskill:used"}, {"to": "topic:used"}]}},
		"subskills": {
			"used": {"params": {"n": "{{params.none}}"}, "workflow": {"start": "x", "params": {"required": ["n", "m"], "properties": {"n": {}, "m": {}}}, "steps": {"x": {"prompt": "{{params.p}} {{steps.a}}", "action": {"tool": "gone"}}, "lost": {}}, "result": "{{params.k}}"}},
			"unused": {"workflow": {"start": "x", "steps": {"x": {"next": "y"}, "y": {"next": "x"}}}},
			"Used": {"workflow": {"start": "x", "steps": {"x": {}}}}},
		"topics": {"used": {"text": "x"}, "unused": {"text": "x"}, "UNUSED": {"text": "x", "label": "found by its label"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range w.Lint(func(id string) bool { return id != "gone" }) {
		got = append(got, fmt.Sprintf("%s %s: %s", r.Code, r.Step, r.Message))
	}
	want := []string{
		`unknown-value a: {{params.q}}: there is no param "q"`,
		`unknown-value a: {{steps.x.y}}: there is no step "x"`,
		`no-end unused/x: [subskill:unused] nothing leads from it to "done"`,
		`no-end unused/y: [subskill:unused] nothing leads from it to "done"`,
		`unreachable-step used/lost: [subskill:used] no step leads to it`,
		`unknown-tool used/x: [subskill:used] there is no tool gone`,
		`unknown-value used/x: [subskill:used] {{params.p}}: there is no param "p"`,
		`unknown-value used/x: [subskill:used] {{steps.a}}: there is no step "a"`,
		`unknown-value : [subskill:used] {{params.k}}: there is no param "k"`,
		`subskill-params a: it leads to subskill "used" without the param "m", which that requires`,
		`duplicate-subskill : subskills "Used" and "used" differ only in their case`,
		`duplicate-topic : topics "UNUSED" and "unused" differ only in their case`,
		`unused-topic : nothing mentions topic "unused": lead to it, or give it a label by which it is found`,
		`unused-subskill : [subskill:Used] no step leads to it: it can only be started by itself`,
		`unused-subskill : [subskill:unused] no step leads to it: it can only be started by itself`,
		`unknown-value : {{params.none}}: there is no param "none"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("remarks (-want +got):\n%s", diff)
	}
}
