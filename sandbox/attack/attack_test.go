package attack_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/attack"
	"github.com/mcpbroker/mcpbroker/sandbox/sandboxtest"
)

func TestEveryAttackHasANameOfItsOwn(t *testing.T) {
	for _, kind := range []attack.Kind{attack.JavaScript, attack.Python} {
		seen := map[string]bool{}
		for _, a := range attack.List(kind) {
			if a.Name == "" || a.Code == "" || !slices.Contains(attack.Groups(), a.Group) || seen[a.Group+a.Name] {
				t.Errorf("%s: %+v", kind, a)
			}
			seen[a.Group+a.Name] = true
			if python := a.Language == sandbox.Python; python != (kind == attack.Python) {
				t.Errorf("%s: %s is in %s", kind, a.Name, a.Language)
			}
		}
	}
}

func TestTheGuideTellsHowManyAttacksThereAre(t *testing.T) {
	guide, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(guide)), " ")
	want := fmt.Sprintf("There are %d scripts in JavaScript. The %d in Python", len(attack.List(attack.JavaScript)), len(attack.List(attack.Python)))
	if !strings.Contains(text, want) {
		t.Errorf("docs/security.md does not say %q", want)
	}
}

// A runner that does not hold is found out, and what got out is told.
func TestWhatGetsOutIsTold(t *testing.T) {
	bait := func(ctx context.Context, e *sandboxtest.Env) (b struct {
		Path string
		Port int
	}) {
		raw, err := e.Call(ctx, "call", "demo__bait", nil)
		if err == nil {
			err = json.Unmarshal(raw, &b)
		}
		if err != nil {
			t.Error(err)
		}
		return b
	}
	var path string
	for _, tt := range []struct {
		name    string
		program sandboxtest.Program
		says    string // of the problem; empty means that it is contained
	}{
		{"it gets nothing", func(context.Context, *sandboxtest.Env) (json.RawMessage, error) {
			return json.RawMessage(`"contained"`), nil
		}, ""},
		{"it throws", func(context.Context, *sandboxtest.Env) (json.RawMessage, error) { return nil, errors.New("no") }, ""},
		{"it gets a value", func(context.Context, *sandboxtest.Env) (json.RawMessage, error) {
			return json.RawMessage(`"root:x:0"`), nil
		}, `it got "root:x:0"`},
		{"it reads a file of the host", func(ctx context.Context, e *sandboxtest.Env) (json.RawMessage, error) {
			path = bait(ctx, e).Path
			text, err := os.ReadFile(path)
			if err != nil {
				return json.RawMessage(`"contained"`), nil
			}
			return json.Marshal(string(text))
		}, "secret"},
		{"it reaches a port of the host", func(ctx context.Context, e *sandboxtest.Env) (json.RawMessage, error) {
			c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", bait(ctx, e).Port))
			if err == nil {
				// The end of the connection says that it was taken.
				c.Read(make([]byte, 1))
				c.Close()
			}
			return json.RawMessage(`"contained"`), nil
		}, "reached a port"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := sandboxtest.Fake(func(ctx context.Context, e *sandboxtest.Env) (json.RawMessage, error) {
				if e.Request.Code != "attack" { // the one that runs afterwards
					return json.RawMessage(`[2,"undefined","undefined","undefined"]`), nil
				}
				return tt.program(ctx, e)
			})
			defer r.Close()
			o := attack.Try(t.Context(), r, attack.Attack{Name: tt.name, Code: "attack", Want: `"contained"`}, attack.Options{})
			if o.Contained != (tt.says == "") || !strings.Contains(o.Problem, tt.says) || o.How == "" {
				t.Errorf("%+v, want a problem with %q", o, tt.says)
			}
		})
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the bait %s is still there: %v", path, err)
	}
}

func TestAnAttackThatLeavesSomethingIsTold(t *testing.T) {
	r := sandboxtest.Fake(func(_ context.Context, e *sandboxtest.Env) (json.RawMessage, error) {
		return json.RawMessage(`[2,"number","undefined","undefined"]`), nil
	})
	defer r.Close()
	o := attack.Try(t.Context(), r, attack.Attack{Code: "attack"}, attack.Options{})
	if o.Contained || !strings.HasPrefix(o.Problem, `afterwards a small program returned [2,"number"`) {
		t.Errorf("%+v, want what was left", o)
	}
	rep := attack.Run(t.Context(), r, attack.Options{Groups: []string{"escape"}, Every: 3})
	if rep.OK() || len(rep.Outcomes) < 3 || !strings.Contains(rep.Outcomes[0].Problem, "it got") {
		t.Errorf("%+v", rep)
	}
	if rep.HostBytes <= 0 || rep.HostAfter <= 0 {
		t.Errorf("the host held %d bytes, and %d afterwards", rep.HostBytes, rep.HostAfter)
	}
}
