package workflow_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

// What a workflow makes of itself has bounds. It ends with the one that was
// reached, and what had happened can be read.
func TestAWorkflowTakesNoMoreThanItMay(t *testing.T) {
	mib := func(n int) string { return strings.Repeat("x", n<<20-100) }
	for name, c := range map[string]struct {
		definition string
		params     string
		want       string
		maxBytes   int64
	}{
		"a value that doubles": {
			`{"start": "a", "steps": {"a": {"action": {"tool": "echo", "input": "ab{{steps.a}}{{steps.a}}"}, "maxVisits": 22, "next": "self"}}}`,
			`{}`, `the input of echo: the template makes more than the 2 MiB`, 8 << 20,
		},
		"an array that doubles": {
			`{"start": "a", "steps": {"a": {"action": {"tool": "echo", "input": ["{{steps.a}}", "{{steps.a}}"]}, "maxVisits": 22, "next": "self"}}}`,
			`{}`, `the input of echo: the template makes more than the 2 MiB`, 12 << 20,
		},
		"an input": {
			`{"start": "a", "steps": {"a": {"action": {"tool": "t", "input": {"x": ["{{params.x}}", "{{params.x}}", "{{params.x}}"]}}}}}`,
			`{"x":"` + mib(1) + `"}`, `the input of t: the template makes more`, 2 << 20,
		},
		"a result": {
			`{"start": "a", "steps": {"a": {"action": {"tool": "big"}}}}`,
			`{}`, `the result of the action: 3145630 bytes are more than the 2 MiB that a value may have`, 1 << 20,
		},
		"a session, of what is longer in some JSON": {
			`{"start": "a", "steps": {"a": {"action": {"tool": "t", "input": "{{params.x}}"}, "maxVisits": 100, "next": "self"}}}`,
			`{"x":"` + strings.ReplaceAll(mib(1), "x", "<") + `"}`, `the session has become larger than the 16 MiB`, 17 << 20,
		},
		"the end": {
			`{"start": "a", "steps": {"a": {}}, "result": {"x": ["{{params.x}}", "{{params.x}}", "{{params.x}}"]}}`,
			`{"x":"` + mib(1) + `"}`, `the result: the template makes more`, 2 << 20,
		},
		"a value that nests itself": {
			`{"start": "a", "steps": {"a": {"action": {"tool": "echo", "input": {"x": "{{steps.a}}"}}, "maxVisits": 1000, "next": "self"}}}`,
			`{}`, `the input of the action: it is nested deeper than the 500 levels`, 17 << 20,
		},
		"steps that ask nothing": {
			`{"start": "a", "steps": {"a": {"maxVisits": 10000, "next": "self"}}}`,
			`{}`, `the workflow has passed 1000 steps without asking anything`, 1 << 20,
		},
	} {
		sessions := workflow.NewMemory()
		e := engine(t, c.definition, &workflow.Options{Sessions: sessions, Call: func(_ context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
			switch tool {
			case "big":
				return json.RawMessage(`"` + mib(3) + `"`), nil
			case "echo":
				return input, nil
			}
			return json.RawMessage(`1`), nil
		}})
		r := e.Start(t.Context(), json.RawMessage(c.params))
		if r.Status != workflow.StatusError || *r.Retry || !strings.Contains(r.Message, c.want) {
			t.Errorf("%s: %.300s", name, show(r))
			continue
		}
		h, err := sessions.Load(r.Session)
		if err != nil || h[len(h)-1].Kind != workflow.Stopped {
			t.Errorf("%s: the history cannot be read, or has no end: %v", name, err)
		}
		bytes := int64(0)
		for _, e := range h {
			bytes += int64(len(e.Value))
		}
		if bytes > c.maxBytes {
			t.Errorf("%s: %d bytes are kept, want at most %d", name, bytes, c.maxBytes)
		}
		if r := e.Advance(t.Context(), r.Session, workflow.Reply{}); !strings.Contains(r.Message, "the session is over") {
			t.Errorf("%s: after the end: %s", name, show(r))
		}
	}
}

// What a model gives may be given again, smaller.
func TestWhatIsGivenHasBounds(t *testing.T) {
	e := engine(t, `{"start": "a", "steps": {"a": {"prompt": "x{{params.x}}", "next": "b"}, "b": {"prompt": "{{steps.a}}{{steps.a}}"}}}`, nil)
	big := json.RawMessage(`{"x":"` + strings.Repeat("x", 3<<20) + `"}`)
	deep := json.RawMessage(strings.Repeat("[", 600) + strings.Repeat("]", 600))
	if r := e.Start(t.Context(), big); !*r.Retry || r.Session != "" || !strings.HasPrefix(r.Message, "params: 3145736 bytes are more than") {
		t.Errorf("params: %s", show(r))
	}
	r := e.Start(t.Context(), nil)
	for _, answer := range []json.RawMessage{big, deep} {
		if r := e.Advance(t.Context(), r.Session, workflow.Reply{Answer: answer}); !*r.Retry || !strings.HasPrefix(r.Message, "the answer: ") {
			t.Errorf("an answer: %s", show(r))
		}
	}
	half := json.RawMessage(`"` + strings.Repeat("x", 3<<19) + `"`)
	if r := e.Advance(t.Context(), r.Session, workflow.Reply{Answer: half}); *r.Retry || r.Step != "b" || !strings.HasPrefix(r.Message, `the prompt of step "b": the template makes more`) {
		t.Errorf("a prompt: %.300s", show(r))
	}
	if _, err := workflow.Parse([]byte(`{"start": "a", "steps": {"a": {"maxVisits": 10001}}}`)); err == nil || !strings.Contains(err.Error(), "10000 is the most") {
		t.Errorf("maxVisits: %v", err)
	}
}
