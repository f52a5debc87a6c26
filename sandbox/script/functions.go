package script

import "encoding/json"

// A Function is a host function of programs. It returns a promise, or a coroutine in Python.
type Function struct {
	// Object is the global with the function as a method; empty for a global function.
	Object string `json:"object,omitempty"`
	Name   string `json:"name"`
	// Call is the Func of its sandbox.Calls.
	Call string `json:"call"`
	// Takes defines which of its arguments become the target and the argument of a call.
	Takes Takes `json:"takes"`
	// Example shows its use in JavaScript, in the error about a wrong use.
	Example string `json:"example"`
}

// Takes is a way to read arguments.
type Takes string

// The ways to read arguments.
const (
	TakesTool    Takes = "tool"    // (id, object?) and (server, tool, object?)
	TakesText    Takes = "text"    // (text, object?) and (object?)
	TakesKey     Takes = "key"     // (text, any value?)
	TakesTexts   Takes = "texts"   // (text, text, any value?): all but the first are one array
	TakesNothing Takes = "nothing" // ()
)

// Functions are all host functions. Their implementation belongs to the host. Every runtime uses
// this table: goja directly, Node and Python through FunctionsJSON.
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

// OnlyActs reports whether the result of a call is not needed: a successful call gets no note.
func OnlyActs(call string) bool { return call == "store.set" || call == "store.delete" }

// FunctionsJSON returns the table for runtimes in other languages than Go.
func FunctionsJSON() string {
	text, err := json.Marshal(Functions)
	if err != nil {
		panic(err) // strings cannot fail
	}
	return string(text)
}
