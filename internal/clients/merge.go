package clients

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// An Action is the outcome of one entry.
type Action string

// The actions.
const (
	Added    Action = "added"    // it was added to servers.json
	Replaced Action = "replaced" // it replaced another server of its name
	Same     Action = "same"     // servers.json has it already
	Conflict Action = "conflict" // servers.json has another of its name, which stays
	Skipped  Action = "skipped"  // the broker cannot use it
	Self     Action = "self"     // it is the broker itself
)

// An Outcome is the outcome of one entry, with the reason.
type Outcome struct {
	Name string `json:"name"`
	// As is the server's name in servers.json, if it differs.
	As   string `json:"as,omitempty"`
	From string `json:"from"`
	// Dir is the project that it is for in From; empty means every project.
	Dir    string   `json:"dir,omitempty"`
	Action Action   `json:"action"`
	Detail string   `json:"detail,omitempty"`
	Notes  []string `json:"notes,omitempty"`
	Needs  []string `json:"needs,omitempty"`
	// Disabled means that it is disabled in servers.json though the client uses it.
	Disabled bool `json:"disabled,omitempty"`
	// Secret means that a secret was copied with it.
	Secret bool `json:"secret,omitempty"`
	// Secrets are the entry's secrets for the keyring, by name.
	Secrets map[string]string `json:"-"`
}

// Server returns the name of the server in servers.json.
func (o *Outcome) Server() string { return cmp.Or(o.As, o.Name) }

// Merge adds the servers of sources to the text of the configuration at path, and
// returns the outcome for each. It replaces existing servers only if force is set. If
// the configuration has another server with the name of a client's server, the new one
// is named after the client, or the project that it is for, too, as in filesystem-cursor.
// Of two files that belong to no client, the first one takes precedence. The error is a
// *config.Report if the configuration itself is wrong.
func Merge(path string, data []byte, sources []Source, force bool) ([]byte, []Outcome, error) {
	cfg, err := config.Parse(path, data)
	if err != nil {
		return nil, nil, err
	}
	outcomes := []Outcome{}
	taken := map[string]claim{}
	for _, s := range sources {
		for _, e := range s.Servers {
			o := Outcome{Name: e.Name, From: s.Path, Dir: s.Dir}
			if o.decide(cfg, e, taken, s, force) {
				if data, err = config.AddServer(data, o.Server(), e.Config); err != nil {
					return nil, nil, err
				}
				if cfg, err = config.Parse(path, data); err != nil {
					return nil, nil, err
				}
				taken[o.Server()] = claim{s, true}
				o.Notes, o.Needs, o.Secret, o.Secrets = e.Notes, e.Needs, e.Secret, e.Secrets
			}
			if _, again := taken[e.Name]; !again && o.Action == Same {
				taken[e.Name] = claim{s, false}
			}
			outcomes = append(outcomes, o)
		}
	}
	return data, outcomes, nil
}

// A claim is the first source with a server of a name, and whether that server was
// written.
type claim struct {
	Source
	written bool
}

// decide decides the outcome of e, an entry of s. It reports whether to write it.
func (o *Outcome) decide(cfg *config.Config, e Entry, taken map[string]claim, s Source, force bool) bool {
	old := cfg.Server(e.Name)
	first, again := taken[e.Name]
	switch {
	case e.Self:
		o.Action, o.Detail = Self, "the broker itself"
	case e.Skip != "":
		o.Action, o.Detail = Skipped, e.Skip
	case old == nil:
		o.Action = Added
		return true
	case sameServer(*old, e):
		o.Action = Same
	case sameButDisabled(*old, e):
		if o.Action, o.Disabled = Same, old.Disabled; o.Disabled {
			o.Detail = "disabled in the config"
		}
		if first.written && !e.disabled() { // enabled in one client and disabled in another
			o.Action, o.Disabled, o.Detail = Replaced, false, ""
			return true
		}
	case e.disabled():
		o.Action, o.Detail = Skipped, "it is disabled there, and the config has a server of this name"
	case force && !again:
		o.Action = Replaced
		return true
	case again && first.Client == s.Client && s.Dir == "": // of a client's files, the nearest one takes precedence
		o.Action, o.Detail = Conflict, fmt.Sprintf("another server of this name came from %s", first.Path)
	case s.Client != "":
		return o.rename(cfg, e, s.suffix(), first.Path)
	default:
		o.Action, o.Detail = Conflict, "the config has another server of this name, which stays; --force replaces it"
	}
	return false
}

// suffix returns what rename adds to the name of a server of s.
func (s Source) suffix() string {
	if s.Dir == "" {
		return s.Client
	}
	name := strings.Map(func(r rune) rune {
		if r == '-' || r < 0x80 && varPrefix("_"+string(r)) == 2 {
			return r
		}
		return '-'
	}, strings.ToLower(filepath.Base(s.Dir)))
	return cmp.Or(strings.Trim(name, "-"), s.Client)
}

// rename finds a name for a client's server if its own name is taken.
func (o *Outcome) rename(cfg *config.Config, e Entry, suffix, first string) bool {
	o.Action = Added
	for n := 1; ; n++ {
		o.As = e.Name + "-" + suffix
		if n > 1 {
			o.As += fmt.Sprintf("-%d", n)
		}
		old := cfg.Server(o.As)
		renamed := Entry{Name: o.As, Config: e.Config}
		if old != nil && (sameServer(*old, renamed) || sameButDisabled(*old, renamed)) {
			o.Action, o.Detail, o.Disabled = Same, "as "+o.As, old.Disabled && !e.disabled()
			return false
		}
		if old != nil {
			continue
		}
		o.Detail = fmt.Sprintf("as %s, since the config has another server %s", o.As, e.Name)
		if first != "" {
			o.Detail = fmt.Sprintf("as %s, since another server %s came from %s", o.As, e.Name, first)
		}
		return true
	}
}

// disabled reports whether the client has disabled the entry.
func (e *Entry) disabled() bool { return e.Config.Get("disabled") == true }

// sameButDisabled is like sameServer, but one of the two must be disabled.
func sameButDisabled(old config.Server, e Entry) bool {
	e.Config = slices.DeleteFunc(slices.Clone(e.Config), func(f config.Field) bool { return f.Key == "disabled" })
	old.Disabled = false
	return sameServer(old, e)
}

// sameServer reports whether both have the same meaning, regardless of spelling.
func sameServer(old config.Server, e Entry) bool {
	data, err := config.AddServer(nil, e.Name, e.Config)
	if err != nil {
		return false
	}
	cfg, err := config.Parse("", data)
	return err == nil && reflect.DeepEqual(old, cfg.Servers[0])
}
