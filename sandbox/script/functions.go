package script

import "encoding/json"

// A Function is one that programs have from their host. It returns a promise, or a
// coroutine in Python.
type Function struct {
	// Object is the global that has it as a method; empty for a global itself.
	Object string `json:"object,omitempty"`
	Name   string `json:"name"`
	// Call is sandbox.Call.Func of its calls.
	Call string `json:"call"`
	// Takes says what of its arguments becomes the target of a call, and what the
	// argument.
	Takes Takes `json:"takes"`
	// Example shows its use in JavaScript: what a wrong use is answered with.
	Example string `json:"example"`
}

// Takes says how arguments are read.
type Takes string

// The ways to read arguments.
const (
	TakesTool    Takes = "tool"    // (id, object?) and (server, tool, object?)
	TakesText    Takes = "text"    // (text, object?) and (object?)
	TakesKey     Takes = "key"     // (text, any value?)
	TakesTexts   Takes = "texts"   // (text, text, any value?): all but the first are one array
	TakesNothing Takes = "nothing" // ()
)

// Functions are all of them. What they do is the host's affair: a function is a row
// here and an answer there. Every runtime reads this table: goja's as it is, those
// of Node and Python from FunctionsJSON.
var Functions = []Function{
	{"", "callMCPTool", "call", TakesTool, "callMCPTool('github__list_issues', { owner: 'o' })"},
	{"tools", "search", "tools.search", TakesText, "tools.search('list issues', { server: 'github', limit: 5 })"},
	{"tools", "describe", "tools.describe", TakesText, "tools.describe('github__list_issues')"},
	{"results", "get", "results.get", TakesText, "results.get('r_…', { path: 'items', offset: 0, limit: 20 })"},
	{"store", "get", "store.get", TakesKey, "store.get('cursor')"},
	{"store", "set", "store.set", TakesKey, "store.set('cursor', { page: 3 })"},
	{"store", "delete", "store.delete", TakesKey, "store.delete('cursor')"},
	{"store", "keys", "store.keys", TakesNothing, "store.keys()"},
	{"skills", "read", "skills.read", TakesTexts, "skills.read('release-notes', 'references/style.md')"},
	{"skills", "call", "skills.call", TakesTexts, "skills.call('release-notes', 'start', { version: '2' })"},
}

// OnlyActs reports whether the result of such a call is not needed: a successful one
// gets no note.
func OnlyActs(call string) bool { return call == "store.set" || call == "store.delete" }

// FunctionsJSON is the table for runtimes that are not written in Go.
func FunctionsJSON() string {
	text, err := json.Marshal(Functions)
	if err != nil {
		panic(err) // texts only
	}
	return string(text)
}
