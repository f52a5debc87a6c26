package broker_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/state/files"
)

// flowBroker has the servers crm, web and chat, whose tools answer with their
// arguments, and keeps values in dir.
func flowBroker(t *testing.T, dir, text string) *broker.Broker {
	t.Helper()
	rules, mistakes := policy.ReadRules(policy.Source{Text: []byte(text)})
	if rules == nil {
		t.Fatal(mistakes)
	}
	kept := files.Open(filepath.Join(dir, "results"), nil)
	server := func(name, tool string) upstream.Config {
		return listing(t, name, listedTool{Name: tool, Description: "Do " + tool + ".", InputSchema: stringParams("text"), Annotations: readOnly})
	}
	b := newBroker(t, broker.Deps{Results: kept, Values: kept}, broker.Settings{Servers: []upstream.Config{server("crm", "get_contact"), server("web", "fetch"), server("chat", "post")}, Policy: rules})
	b.Refresh(t.Context())
	return b
}

// outcome runs a script and returns "ok", or the code of the error that it ends with.
func outcome(b *broker.Broker, t *testing.T, owner, code string) string {
	t.Helper()
	a := b.Execute(t.Context(), broker.ExecuteRequest{Owner: owner, Code: "try {\n" + code + "\n} catch (e) { return e.code ?? e.message }\nreturn 'ok'"})
	return strings.Trim(string(a.Result), `"`)
}

const (
	readContact = `const r = await callMCPTool('crm__get_contact', {text: 'Kim Lee, a@b.co, since 2019'});`
	postHello   = `await callMCPTool('chat__post', {text: 'hello'});`
)

// What one run has read counts in the next one of the same principal, and in none
// of another.
func TestFlowsHoldAcrossRuns(t *testing.T) {
	b := flowBroker(t, t.TempDir(), `{"preset":"open","flows":[{"from":["crm"],"to":["chat"],"effect":"deny"}]}`)
	for i, step := range []struct{ owner, code, want string }{
		{"ann", postHello, "ok"},
		{"ann", readContact + postHello, "denied"},
		{"ann", postHello, "denied"},
		{"bob", postHello, "ok"},
		{"ann", readContact, "ok"},
	} {
		if got := outcome(b, t, step.owner, step.code); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
}

// Reads of a run count also if many other principals came meanwhile, so that principals
// without reads were dropped.
func TestFlowsHoldWhenManyCome(t *testing.T) {
	b := flowBroker(t, t.TempDir(), `{"preset":"open","flows":[{"from":["crm"],"to":["chat"],"effect":"deny"}]}`)
	came := 0
	b.Execute(t.Context(), broker.ExecuteRequest{Owner: "ann", Code: readContact, Progress: func(int, string) {
		for ; came < 70; came++ {
			outcome(b, t, fmt.Sprint("person ", came), "")
		}
	}})
	runtime.GC()
	runtime.GC()
	for owner, want := range map[string]string{"ann": "denied", "person 1": "ok", "bob": "ok"} {
		if got := outcome(b, t, owner, postHello); got != want || came == 0 {
			t.Errorf("%s: %s after %d others, want %s", owner, got, came, want)
		}
	}
}

// Values are found again by what they say, also short ones about persons within a
// longer text, and otherwise written ones.
func TestFlowsOfValues(t *testing.T) {
	b := flowBroker(t, t.TempDir(), `{"preset":"open","flows":[{"from":["crm"],"to":["chat"],"effect":"deny","mode":"values"}]}`)
	if got := outcome(b, t, "ann", readContact); got != "ok" {
		t.Fatal(got)
	}
	for text, want := range map[string]string{
		"hello":                              "ok",
		"mail A@B.co today":                  "denied",
		"KIM  LEE, a@b.co,since 2019":        "denied",
		"get_contact":                        "ok",
		"other@b.com":                        "ok",
		"in JSON {\\\"m\\\":\\\"a@b.co\\\"}": "denied",
	} {
		if got := outcome(b, t, "ann", `await callMCPTool('chat__post', {text: "`+text+`"})`); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := outcome(b, t, "bob", `await callMCPTool('chat__post', {text: "a@b.co"})`); got != "ok" {
		t.Errorf("another principal: %s", got)
	}
}

// The three labels meet in two runs.
func TestTrifectaAcrossRuns(t *testing.T) {
	b := flowBroker(t, t.TempDir(), `{"preset":"open","labels":{"crm":["private"],"web":["untrusted"],"chat":["egress"]},"trifecta":"deny"}`)
	for i, step := range []struct{ code, want string }{
		{readContact, "ok"}, {postHello, "ok"}, {`await callMCPTool('web__fetch', {})`, "ok"}, {postHello, "denied"},
	} {
		if got := outcome(b, t, "ann", step.code); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
}

// What a script keeps, and what is kept of an answer, carries where it came from,
// for a broker too that was started later.
func TestKeptValuesCarryTheirOrigin(t *testing.T) {
	dir, rules := t.TempDir(), `{"preset":"open","flows":[{"from":["crm"],"to":["chat"],"effect":"deny"}]}`
	b := flowBroker(t, dir, rules)
	if got := outcome(b, t, "ann", `await store.set('plain', 1);`+readContact+`await store.set('k', r); await store.set('gone', r)`); got != "ok" {
		t.Fatal(got)
	}
	ref := b.Execute(t.Context(), broker.ExecuteRequest{Owner: "ann", Code: readContact + `return r.repeat(2000)`}).Ref
	later := flowBroker(t, dir, rules)
	for _, step := range []struct{ code, want string }{
		{`await store.set('gone', 1); await store.get('gone'); await store.get('plain');` + postHello, "ok"},
		{`await store.get('k');` + postHello, "denied"},
	} {
		if got := outcome(later, t, "ann", step.code); got != step.want {
			t.Errorf("%s: %s, want %s", step.code, got, step.want)
		}
	}
	if got := outcome(flowBroker(t, dir, rules), t, "ann", `await results.get('`+ref+`');`+postHello); ref == "" || got != "denied" {
		t.Errorf("%q: %s, want denied", ref, got)
	}
}
