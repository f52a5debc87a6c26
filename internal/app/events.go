package app

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/words"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/state"
)

// Names in the record of clients that speak no MCP.
const (
	ClientCLI   = "cli"   // a command
	ClientAdmin = "admin" // over HTTP, with the admin token
)

// ChangeEvent returns a change of skills or plugins as an event of the record.
func ChangeEvent(c library.Change, client string) state.Event {
	e := state.Event{Name: c.Name, Client: cmp.Or(c.Client, client), Digest: c.Digest, Detail: string(c.Action), Failed: c.Err != nil}
	install := c.Action == library.Installed || c.Action == library.Replaced
	switch {
	case c.Kind == skills.KindSkill && install:
		e.Kind = state.EventSkillInstalled
	case c.Kind == skills.KindSkill:
		e.Kind = state.EventSkillStateChanged
	case c.Kind == skills.KindPlugin && install:
		e.Kind = state.EventPluginInstalled
	default:
		e.Kind = state.EventPluginStateChanged
	}
	if c.Err != nil {
		e.Detail = "not " + e.Detail
	}
	if c.Kind == skills.KindMarket {
		e.Detail = "marketplace " + e.Detail
	}
	if c.Detail != "" {
		e.Detail += " " + c.Detail
	}
	if c.Err != nil {
		e.Detail += ": " + words.Line(c.Err.Error(), 300)
	}
	return e
}

// SkillEvent returns what a command did with a skill as an event of the record.
func SkillEvent(kind string, k *skills.Skill, detail string, err error) state.Event {
	e := state.Event{Kind: kind, Name: k.Ref, Client: ClientCLI, Digest: k.Digest(), Detail: strings.TrimSpace(k.Origin() + " " + detail), Failed: err != nil}
	if err != nil {
		e.Detail += " failed: " + words.Line(err.Error(), 300)
	}
	return e
}

// configEvent records which config, and which managed policy, are in force.
func configEvent(cfg *config.Config, managed string) state.Event {
	h := sha256.New()
	for _, path := range []string{cfg.Path, managed} {
		text, _ := os.ReadFile(path) // what cannot be read has an empty digest
		sum := sha256.Sum256(text)
		h.Write(sum[:])
	}
	return state.Event{Kind: state.EventConfig, Name: cfg.Path, Digest: hex.EncodeToString(h.Sum(nil)), Detail: words.Count(len(cfg.Servers), "server") + ", the config or the managed policy has changed"}
}
