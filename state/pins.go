package state

import (
	"context"
	"encoding/json"
	"time"
)

// The kinds of what a server offers, and of the server itself.
const (
	PinTool         = "tool"
	PinInstructions = "instructions"
	PinPrompt       = "prompt"
	PinResource     = "resource" // templates too
	PinSkill        = "skill"
	PinServer       = "server" // its command line and package, or its URL
)

// A PinName names one thing that a server offers. Name is the server's own: of a
// resource and a skill the URI, of instructions and the server empty.
type PinName struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
}

// A Pin is one thing as it was approved.
type Pin struct {
	PinName
	// Definition is what was approved, as JSON, and Digest its digest. Without
	// Digest nothing of it was ever approved.
	Definition json.RawMessage `json:"definition,omitempty"`
	Digest     string          `json:"digest,omitempty"`
	// Blocked means that a person has blocked it, whatever it is.
	Blocked bool `json:"blocked,omitempty"`
	// Verdict is what a scan said of the definition.
	Verdict string `json:"verdict,omitempty"`
	// ByPerson means that a person has approved or blocked it, At when.
	ByPerson bool      `json:"byPerson,omitempty"`
	At       time.Time `json:"at"`
	// Noted is the digest that was reported last as another one.
	Noted string `json:"noted,omitempty"`
}

// Pins keeps what was approved of servers. It is safe for concurrent use, by
// several processes too.
type Pins interface {
	// Pins returns the pins of a server; nil if there were never any. An error
	// means that they cannot be read, not that there are none.
	Pins(ctx context.Context, server string) (map[PinName]Pin, error)
	// ChangePins calls f with the current pins of a server, never nil, and stores what
	// f leaves in the map. Changes are serialized. If f returns an error, ChangePins
	// returns it and changes nothing.
	ChangePins(ctx context.Context, server string, f func(map[PinName]Pin) error) error
	// PinsVersion returns a text that is another one after each change of the
	// pins of a server, or of any server if that is empty. It may be another one
	// without a change.
	PinsVersion(ctx context.Context, server string) string
}
