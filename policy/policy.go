// Package policy decides whether a tool call is allowed, needs approval, or is denied. No other
// package does. It does no I/O: a decision depends only on the Call.
//
// A Policy decides about a Call. A List joins the decisions of several policies so that their
// order does not affect the result: deny wins, then ask, then allow. The policies of this package
// are ReadOnly, ToolLists, AllowedTools and Rules, which a user writes; a new one is a type with
// one method.
//
// ClassOf returns the possible effect of a tool. Everything that depends on it, such as
// the [write] mark of search hits or read-only mode, uses ClassOf instead of its own
// rule.
package policy

import (
	"encoding/json"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// A Policy decides about calls. Decide must be safe for concurrent use, must not block, and must
// not keep or modify the data of the Call.
type Policy interface {
	Decide(Call) Decision
}

// A Call is a tool call that is about to be made.
type Call struct {
	// Caller is the client on whose behalf the call is made.
	Caller string
	// Tool is the tool, with its server.
	Tool *discovery.Tool
	// Class is ClassOf(Tool).
	Class Class
	// Args are the arguments as they will be sent. Nil asks about the tool before there is a call:
	// a policy that denies only some arguments allows it.
	Args json.RawMessage
	// Skill is the skill whose workflow makes the call, or nil for a call of a script
	// or of the model.
	Skill *Skill
	// Run is the execution that the call belongs to.
	Run Run
	// Profile is the profile of the caller, or empty.
	Profile string
	// ReadOnly reports whether this broker runs read-only.
	ReadOnly bool
	// Pin compares the tool with its approved form.
	Pin Pin
}

// A Pin is the result of comparing a tool with its approved form.
type Pin string

// The pins.
const (
	PinApproved Pin = ""
	PinNew      Pin = "new"     // added since its server was approved
	PinChanged  Pin = "changed" // changed since its approval
	PinBlocked  Pin = "blocked"
)

// A Skill is the part of a skill that policies know.
type Skill struct {
	// Ref is the name by which users know the skill.
	Ref string
	// AllowedTools are the tokens of its allowed-tools.
	AllowedTools []string
}

// CallOf returns a Call that asks about a tool before there is a call.
func CallOf(t *discovery.Tool) Call { return Call{Tool: t, Class: ClassOf(t)} }

// An Effect is the result of a decision. A larger effect is stricter.
type Effect uint8

// The effects, the zero value first.
const (
	Allow Effect = iota // the call is made
	Ask                 // a person has to approve the call first
	Deny                // the call is refused
)

// String returns the effect as configurations and records spell it.
func (e Effect) String() string { return [...]string{"allow", "ask", "deny"}[e] }

// A Decision is the decision of a policy about a call. The zero value allows it.
type Decision struct {
	Effect Effect
	// Code names the policy that decided, such as CodeReadOnly. It is empty if no policy objects
	// to the call.
	Code string
	// Reason completes a sentence that begins with the id of the tool: "is not
	// marked read-only, and this broker runs read-only".
	Reason string
	// Hint says what to do instead.
	Hint string
	// Rule is the rule that decided, if Code is CodeRule.
	Rule *Rule
}

// String returns the decision as records spell it: "deny rule servers.json:7:5".
func (d Decision) String() string {
	s := d.Effect.String()
	if d.Code != "" {
		s += " " + d.Code
	}
	if d.Rule != nil {
		s += " " + d.Rule.Position.String()
	}
	return s
}

// The codes of the policies in this package.
const (
	CodePin          = "pin"
	CodeReadOnly     = "read_only"
	CodeProfile      = "profile" // outside the profile, and so unknown
	CodeRule         = "rule"
	CodeFlow         = "flow"
	CodeBudget       = "budget"
	CodePreset       = "preset"
	CodeToolLists    = "tool_lists"
	CodeAllowedTools = "allowed_tools"
)

// A List is a Policy that joins others: it returns the decision with the strictest effect, and of
// equal ones the first with a code. An empty List allows every call.
type List []Policy

// Decide implements Policy.
func (l List) Decide(c Call) Decision {
	var strongest Decision
	for _, p := range l {
		d := p.Decide(c)
		if d.Effect > strongest.Effect || strongest.Code == "" && d.Effect == strongest.Effect {
			strongest = d
		}
		if d.Effect == Deny {
			break
		}
	}
	return strongest
}

// searchHint is the hint of denials of a tool for all calls, which search does not show.
const searchHint = "use tools that search_tools finds here"

// ReadOnly denies every tool that may change something. The server must mark the tool as
// read-only, and the name must not contradict that.
type ReadOnly struct{}

// Decide implements Policy.
func (ReadOnly) Decide(c Call) Decision {
	switch {
	case !c.Tool.ReadOnly():
		return Decision{Effect: Deny, Code: CodeReadOnly, Reason: "is not marked read-only, and this broker runs read-only", Hint: searchHint}
	case c.Class != Read:
		return Decision{Effect: Deny, Code: CodeReadOnly, Reason: "is marked read-only, but its name says that it deletes something, and this broker runs read-only", Hint: searchHint}
	}
	return Decision{}
}
