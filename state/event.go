package state

import (
	"time"

	"github.com/mcpbroker/mcpbroker/internal/redact"
)

// EventToolsChanged is the kind of an Event for offers of a server that differ from its
// pins.
const EventToolsChanged = "tools_changed"

// EventDrift is the kind of an Event for a result that differs from all earlier results
// of its tool. Its detail names the tool and the field.
const EventDrift = "result_drift"

// EventSearchUsed is the kind of an Event for a call of the tool Name after a search for
// the words in Detail. Digest tells one owner from another; it is empty for the user of
// the state.
const EventSearchUsed = "search_used"

// Kinds of an Event about a skill or a plugin. Its detail is the file that was read,
// the tool that was called, or the new state.
const (
	EventSkillActivated     = "skill_activated"
	EventSkillFileRead      = "skill_file_read"
	EventSkillToolCalled    = "skill_tool_called"
	EventSkillWorkflow      = "skill_workflow" // what happened in a session, without what was said
	EventSkillInstalled     = "skill_installed"
	EventSkillStateChanged  = "skill_state_changed"
	EventPluginInstalled    = "plugin_installed"
	EventPluginStateChanged = "plugin_state_changed"
)

// Kinds of an Event that changes permissions.
const (
	EventApproval    = "approval"        // a person decided about calls of the run Name, or a script of the skill Name
	EventCancelled   = "cancelled"       // a person ended the execution Name, over HTTP
	EventScriptSaved = "script_saved"    // a person saved the script Name in the console
	EventServers     = "servers_changed" // a person added, removed, enabled or disabled a server
	EventPins        = "pins_changed"    // a person approved or blocked tools of a server
	EventLogin       = "login"           // at a remote server, or to the console
	EventToken       = "api_token"       // a token was made for the client Name, or revoked
	EventLogout      = "logout"          // of a remote server, or of the console
	EventConfig      = "config_changed"  // Digest is that of the config in force; recorded when it changes
)

// An Event is something that happened to a server, a skill or a plugin, outside
// of executions.
type Event struct {
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"`
	Server string    `json:"server"` // empty if it is about a skill or a plugin
	// Name is that of the skill or plugin, Client who did it, and Digest tells one
	// version of the SKILL.md from another.
	Name   string `json:"name,omitempty"`
	Client string `json:"client,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Failed means that the action failed; Detail contains the reason.
	Failed bool   `json:"failed,omitempty"`
	Detail string `json:"detail"`
}

// Prepare is for an event what Execution.Prepare is for an execution.
func (e *Event) Prepare() {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Detail = redact.Cut(e.Detail, MaxError)
	cutNames(&e.Kind, &e.Server, &e.Name, &e.Client, &e.Digest)
}
