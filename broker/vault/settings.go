package vault

import "github.com/mcpbroker/mcpbroker/policy"

// Settings say what is hidden, and which tools may have the values nevertheless.
type Settings struct {
	Secrets, Personal bool
	Reveal            policy.Patterns
}

// On reports whether anything is hidden.
func (s Settings) On() bool { return s.Secrets || s.Personal }
