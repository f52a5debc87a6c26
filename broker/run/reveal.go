package run

import (
	"encoding/json"
	"errors"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/vault"
	"github.com/mcpbroker/mcpbroker/discovery"
)

// reveal implements bridge.Options.Reveal: it replaces a model's tokens with their values for the
// server that they came from, and for tools that the configuration lists.
func (o *Options) reveal(owner string, t *discovery.Tool, args json.RawMessage) (json.RawMessage, error) {
	if o.Vault == nil || !o.Redact.On() || !vault.HasTokens(args) {
		return args, nil
	}
	out, err := o.Vault.Reveal(owner, t.Server, args, o.Redact.Reveal.Match(t))
	if err == nil {
		return out, nil
	}
	e := &bridge.Error{Server: t.Server, Tool: t.Name, Code: bridge.CodeToken, Message: t.ID + " was not called: " + err.Error(),
		Hint: "read the value again, in this script, and pass it on"}
	if _, ok := errors.AsType[*vault.ForeignError](err); ok {
		e.Hint = "do without it, or ask the user to add \"" + t.Server + "\" to \"reveal\" of \"redact\" in the configuration"
	}
	return nil, e
}
