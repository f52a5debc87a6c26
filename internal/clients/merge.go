package clients

import (
	"fmt"
	"reflect"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// An Action is what became of one entry.
type Action string

// What can become of an entry.
const (
	Added    Action = "added"    // it is new in servers.json
	Replaced Action = "replaced" // it took the place of another of its name
	Same     Action = "same"     // servers.json has it already
	Conflict Action = "conflict" // servers.json has another of its name, which stays
	Skipped  Action = "skipped"  // the broker cannot use it
	Self     Action = "self"     // it is the broker itself
)

// An Outcome is what became of one entry, and why.
type Outcome struct {
	Name   string   `json:"name"`
	From   string   `json:"from"`
	Action Action   `json:"action"`
	Detail string   `json:"detail,omitempty"`
	Notes  []string `json:"notes,omitempty"`
	Needs  []string `json:"needs,omitempty"`
	// Secret means that a secret was copied with it.
	Secret bool `json:"secret,omitempty"`
	// Secrets are those of the entry that belong into the keyring, by name.
	Secrets map[string]string `json:"-"`
}

// Merge adds the servers of sources to the text of the configuration at path,
// and says what became of each. What is there already stays unless force is
// set; of two sources with a server of the same name the first one counts. The
// error is a *config.Report when the configuration itself is wrong.
func Merge(path string, data []byte, sources []Source, force bool) ([]byte, []Outcome, error) {
	cfg, err := config.Parse(path, data)
	if err != nil {
		return nil, nil, err
	}
	outcomes := []Outcome{}
	taken := map[string]string{} // names that came from a source of this call
	for _, s := range sources {
		for _, e := range s.Servers {
			o := Outcome{Name: e.Name, From: s.Path}
			if o.decide(cfg, e, taken, force) {
				if data, err = config.AddServer(data, e.Name, e.Config); err != nil {
					return nil, nil, err
				}
				if cfg, err = config.Parse(path, data); err != nil {
					return nil, nil, err
				}
				taken[e.Name] = s.Path
				o.Notes, o.Needs, o.Secret, o.Secrets = e.Notes, e.Needs, e.Secret, e.Secrets
			}
			outcomes = append(outcomes, o)
		}
	}
	return data, outcomes, nil
}

// decide settles what becomes of e, and reports whether it is to be written.
func (o *Outcome) decide(cfg *config.Config, e Entry, taken map[string]string, force bool) bool {
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
	case again:
		o.Action, o.Detail = Conflict, fmt.Sprintf("another server of this name came from %s", first)
	case force:
		o.Action = Replaced
		return true
	default:
		o.Action, o.Detail = Conflict, "the config has another server of this name, which stays; --force replaces it"
	}
	return false
}

// sameServer reports whether both mean the same, however they are written.
func sameServer(old config.Server, e Entry) bool {
	data, err := config.AddServer(nil, e.Name, e.Config)
	if err != nil {
		return false
	}
	cfg, err := config.Parse("", data)
	return err == nil && reflect.DeepEqual(old, cfg.Servers[0])
}
