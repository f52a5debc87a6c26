package skills_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills"
)

// virtual registers a skill with these tools.
func virtual(t *testing.T, tools ...skills.Tool) *skills.Skill {
	t.Helper()
	r := skills.NewRegistry(nil)
	if err := r.Register(skills.Virtual{Name: "kit", Description: "A kit. Use it.", Body: "Do it.", Tools: tools}); err != nil {
		t.Fatal(err)
	}
	k, err := r.Snapshot().Get("kit")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// The input is checked before the handler runs, and the error names the field.
func TestInputIsCheckedBeforeTheHandlerRuns(t *testing.T) {
	var calls atomic.Int32
	k := virtual(t,
		skills.Tool{Name: "roll", InputSchema: json.RawMessage(`{"type":"object","properties":{"dice":{"type":"integer","minimum":1},"how":{"enum":["high","low"]},"of":{"type":"object","properties":{"sides":{"type":"integer"}}}},"required":["dice"],"additionalProperties":false}`),
			Handler: func(_ context.Context, in json.RawMessage) (any, error) { calls.Add(1); return in, nil }},
		skills.Tool{Name: "optional", InputSchema: json.RawMessage(`{"type":"object"}`), Handler: func(_ context.Context, in json.RawMessage) (any, error) { return len(in), nil }})
	for _, c := range []struct{ input, want string }{
		{``, `"dice"`}, {`{}`, `"dice"`}, {`{"dice":"2"}`, `"dice": takes an integer`}, {`{"dice":0}`, `"dice": minimum`}, {`{"dice":1,"how":"middle"}`, `"how": enum`},
		{`{"dice":1,"of":{"sides":"six"}}`, `"of.sides": takes an integer`}, {`{"dice":1,"colour":"red"}`, `colour`}, {`[1]`, `takes an object`}, {`{"dice"`, "invalid JSON"},
	} {
		_, err := k.Call(t.Context(), "roll", json.RawMessage(c.input))
		e, ok := errors.AsType[*skills.FileError](err)
		if !ok || e.Code != "invalid_input" || !strings.Contains(e.Message, c.want) || !strings.Contains(e.Message, "call roll of skill kit") {
			t.Errorf("roll %s: %v, want an error with %s", c.input, err, c.want)
		}
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("the handler was called %d times with wrong input", n)
	}
	if answer, err := k.Call(t.Context(), "roll", json.RawMessage(`{"dice":2,"how":"low"}`)); err != nil || string(answer) != `{"dice":2,"how":"low"}` {
		t.Errorf("roll: %s, %v", answer, err)
	}
	if answer, err := k.Call(t.Context(), "optional", nil); err != nil || string(answer) != "0" {
		t.Errorf("a tool without input: %s, %v", answer, err)
	}
}

func TestAnswersOfAnyType(t *testing.T) {
	type point struct {
		X int     `json:"x"`
		Y float64 `json:"y,omitempty"`
	}
	for _, c := range []struct {
		name   string
		answer any
		want   string
	}{
		{"nil", nil, `null`}, {"a text", "a <b> & c", `"a <b> & c"`}, {"a number", 3, `3`}, {"a big one", uint64(math.MaxUint64), `18446744073709551615`},
		{"a struct", point{X: 1}, `{"x":1}`}, {"a pointer", &point{2, 0.5}, `{"x":2,"y":0.5}`}, {"a list", []point{{X: 1}}, `[{"x":1}]`},
		{"a map", map[int]bool{1: true}, `{"1":true}`}, {"JSON", json.RawMessage(`{"b":1,"a":2}`), `{"b":1,"a":2}`}, {"a time", time.Unix(0, 0).UTC(), `"1970-01-01T00:00:00Z"`},
		{"bytes", []byte("hi"), `"aGk="`}, {"a channel", make(chan int), `its answer has no JSON form`}, {"no number", math.NaN(), `its answer has no JSON form`}, {"invalid JSON", json.RawMessage(`{`), `its answer has no JSON form`},
	} {
		k := virtual(t, skills.Tool{Name: "t", Handler: func(context.Context, json.RawMessage) (any, error) { return c.answer, nil }})
		answer, err := k.Call(t.Context(), "t", nil)
		if err != nil {
			answer = []byte(err.Error())
		}
		if got := string(answer); got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A handler that panics has failed, and nothing else has; one whose caller is
// gone ends with its context.
func TestHandlersThatFail(t *testing.T) {
	broken := errors.New("out of dice")
	k := virtual(t,
		skills.Tool{Name: "panics", Handler: func(context.Context, json.RawMessage) (any, error) { panic("out of dice") }},
		skills.Tool{Name: "fails", Handler: func(context.Context, json.RawMessage) (any, error) { return nil, broken }},
		skills.Tool{Name: "waits", Handler: func(ctx context.Context, _ json.RawMessage) (any, error) { <-ctx.Done(); return nil, ctx.Err() }})
	if _, err := k.Call(t.Context(), "panics", nil); err == nil || !strings.Contains(err.Error(), "call panics of skill kit: its handler panicked: out of dice") {
		t.Errorf("panics: %v", err)
	}
	if _, err := k.Call(t.Context(), "fails", nil); !errors.Is(err, broken) {
		t.Errorf("fails: %v, want the handler's own error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, err := k.Call(ctx, "waits", nil); done <- err }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("waits: %v, want the end of its context", err)
	}
	if _, err := k.Call(ctx, "fails", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a call of nobody: %v", err)
	}
}

// The fields of a header are those of a file: its text has them too, for whoever
// it is served to.
func TestFieldsOfVirtualSkills(t *testing.T) {
	v := skills.Virtual{
		Name: "kit", Description: "A kit. Use it.", License: "MIT", Compatibility: "None.", AllowedTools: []string{"files__*", "Bash(git add, commit)"},
		Metadata: map[string]string{"version": "1.0", "a: b": "yes\nno"},
	}
	k, err := v.Skill()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := k.Doc()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{v.License, v.Compatibility, v.AllowedTools, v.Metadata}, []any{doc.License, doc.Compatibility, doc.AllowedTools, doc.Metadata}); diff != "" {
		t.Errorf("its text (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"1.0", v.AllowedTools}, []any{k.Version, k.AllowedTools}); diff != "" {
		t.Errorf("the skill (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "a b", "a,b"} {
		v.AllowedTools = []string{bad}
		if _, err := v.Skill(); err == nil || !strings.Contains(err.Error(), "allowed tools") {
			t.Errorf("allowed tool %q: %v", bad, err)
		}
	}
}

// The order is that in which skills and tools were attached.
func TestTheOrderIsThatOfRegistration(t *testing.T) {
	h := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
	r := skills.NewRegistry(nil)
	for _, name := range []string{"zebra", "ant", "mole"} {
		if err := r.Register(skills.Virtual{Name: name, Description: "x", Tools: []skills.Tool{{Name: "z", Handler: h}, {Name: "a", Handler: h}}}); err != nil {
			t.Fatal(err)
		}
	}
	var order []string
	for _, k := range r.Snapshot().Shown() {
		order = append(order, k.Name, k.Tools[0].Name, k.Tools[1].Name)
	}
	if got := strings.Join(order, " "); got != "zebra z a ant z a mole z a" {
		t.Errorf("the order is %s, want that of their registration", got)
	}
	k, err := r.Snapshot().Get("ant")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Call(t.Context(), "zz", nil); err == nil || !strings.Contains(err.Error(), `did you mean z?`) {
		t.Errorf("an unknown tool: %v", err)
	}
}
