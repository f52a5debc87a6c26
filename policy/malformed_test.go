package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan/jsonscantest"
	"github.com/mcpbroker/mcpbroker/policy"
)

// argumentRules is a rule of each kind about the arguments.
func argumentRules(t *testing.T, effect, condition string) *policy.Rules {
	return rules(t, `{"preset":"`+map[string]string{"allow": "careful", "deny": "open"}[effect]+`","rules":[{"effect":"`+effect+`","tools":["*.*"],"args":`+condition+`}]}`)
}

// No rule allows arguments that a decoder refuses, wherever the mistake is, and each that
// denies some denies them.
func TestMalformedArgumentsAreNotAllowed(t *testing.T) {
	conditions := []string{`{"a":1}`, `{"a.b":"x"}`, `{"*":1}`, `{"a.*":{"absent":true}}`, `{"zz":{"absent":true}}`, `{"first":1}`}
	for _, condition := range conditions {
		allow, deny := argumentRules(t, "allow", condition), argumentRules(t, "deny", condition)
		for _, text := range jsonscantest.Malformed() {
			for _, args := range []string{text, `{"first":1,"a":1,"x":` + text + `}`, `{"first":1,` + strings.Repeat(`"k":0,`, 20) + `"a":` + text + `}`} {
				if args == "" || json.Valid([]byte(args)) {
					continue
				}
				c := policy.CallOf(toolOfServer("files", "write"))
				c.Args = json.RawMessage(args)
				if d := allow.Decide(c); d.Rule != nil {
					t.Errorf("a rule that allows %s matches %.100q", condition, args)
				}
				if d := deny.Decide(c); d.Effect != policy.Deny {
					t.Errorf("a rule that denies %s does not match %.100q", condition, args)
				}
			}
		}
	}
}

// A rule sees the keys and texts that a decoder finds, and all of those that occur twice.
func TestArgumentsAreReadAsADecoderDoes(t *testing.T) {
	for _, c := range []struct{ condition, args string }{
		{`{"a":"x"}`, `{"\u0061":"\u0078"}`}, {`{"a":"x"}`, `{"a":"y","a":"x"}`}, {`{"a":"x"}`, `{"a":"x","a":"y"}`}, {`{"a":"x"}`, `{"a":"x","\u0061":"y"}`},
		{`{"a\\nb":"x"}`, `{"a\\nb":"x"}`}, {`{"\ufffd":"x"}`, "{\"\xff\":\"x\"}"}, {`{"a":"\ufffd"}`, "{\"a\":\"\xff\"}"}, {`{"a":"\ufffd"}`, `{"a":"\ud800"}`}, {`{"a":"😀"}`, `{"a":"\ud83d\ude00"}`},
		{`{"a.b":"x"}`, `{"a":{"c":1},"a":{"b":"x"}}`}, {`{"a.*":"x"}`, ` { "a" : [ "y" , "x" ] } `}, {`{"a":100}`, `{"a":1e2}`},
	} {
		call := policy.CallOf(toolOfServer("files", "write"))
		call.Args = json.RawMessage(c.args)
		if d := argumentRules(t, "deny", c.condition).Decide(call); d.Effect != policy.Deny {
			t.Errorf("%s does not match %q", c.condition, c.args)
		}
	}
	call := policy.CallOf(toolOfServer("files", "write"))
	call.Args = json.RawMessage(`{"a\nb":"x"}`)
	if d := argumentRules(t, "deny", `{"a\\nb":"x"}`).Decide(call); d.Effect == policy.Deny {
		t.Error("a key with a line break is one with a backslash")
	}
}

// What a run has read may be in arguments that a decoder refuses, and a result that it
// refuses may be in any arguments.
func TestMalformedTextsCarryAnything(t *testing.T) {
	r := rules(t, `{"preset":"open","flows":[{"from":["in.*"],"to":["out.*"],"effect":"deny","mode":"values"}]}`)
	decide := func(result, args string) policy.Effect {
		c := policy.CallOf(toolOfServer("out", "write"))
		c.Args = json.RawMessage(args)
		c.Run.AddRead(toolOfServer("in", "read"), json.RawMessage(result), true)
		return r.Decide(c).Effect
	}
	for _, text := range jsonscantest.Malformed() {
		if text == "" {
			continue
		}
		if e := decide(text, `{"a":"b"}`); e != policy.Deny {
			t.Errorf("a result %.100q is not in arguments: %v", text, e)
		}
		if e := decide(`{"a":"a text of a result"}`, text); e != policy.Deny {
			t.Errorf("a result is not in arguments %.100q: %v", text, e)
		}
	}
	if e := decide(`{"a":"a text of a result"}`, `{"a":"b"}`); e == policy.Deny {
		t.Error("every call is denied")
	}
	if e := decide(`{"a":"a text of a result"}`, `{"a":"A \u0054ext of a result."}`); e != policy.Deny {
		t.Error("an escape hides what was read")
	}
}
