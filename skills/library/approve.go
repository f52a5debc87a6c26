package library

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
)

// An Approval is what a user has allowed of a plugin with a digest: to start the
// servers of these names, which may read these variables of the environment.
type Approval struct {
	Digest  string   `json:"digest"`
	Servers []string `json:"servers"`
	Env     []string `json:"env"`
}

// A Run is what a server of a plugin would be.
type Run struct {
	Name string `json:"name"`
	// Runs is its command line with its environment, or its address with headers.
	Runs string `json:"runs"`
	// Reads are the variables of the environment that it names, which are empty
	// unless the user names them too.
	Reads []string `json:"reads"`
}

// A Request is what a user is asked: whether the servers of a plugin may start.
type Request struct {
	Plugin  string `json:"plugin"`
	Digest  string `json:"digest"`
	Servers []Run  `json:"servers"`
	// Changed means that they were approved before, and were others.
	Changed bool `json:"changed"`
}

// Reads are the variables that the servers name, sorted.
func (r Request) Reads() []string {
	var names []string
	for _, s := range r.Servers {
		names = append(names, s.Reads...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Names are those of the servers, as they are shown.
func (r Request) Names() (names []string) {
	for _, s := range r.Servers {
		names = append(names, s.Name)
	}
	return names
}

// Ask asks the user, and returns the variables that the servers may read. An
// error is a no.
type Ask func(Request) (env []string, err error)

// maxRuns bounds the text that describes a server.
const maxRuns = 4096

// request is what is to be asked about a plugin.
func (l *Library) request(p *plugin.Plugin, digest string) (Request, error) {
	r := Request{Plugin: p.Name, Digest: digest, Servers: []Run{}}
	for _, s := range p.Servers {
		run, err := l.o.Describe(s)
		if err != nil {
			continue // it never starts
		}
		if len(run.Runs) > maxRuns {
			return r, &plugin.Error{Code: "bad_servers", Message: fmt.Sprintf("what server %.80q runs is longer than %d characters, which nobody would read", s.Name, maxRuns)}
		}
		r.Servers = append(r.Servers, run)
	}
	before, err := approval(l.o.Switches, p.Name)
	r.Changed = before != nil
	return r, err
}

// ask asks about the servers of a plugin. It returns nil for one without any.
func (l *Library) ask(p *plugin.Plugin, digest string, ask Ask) (*Approval, error) {
	r, err := l.request(p, digest)
	if err != nil || len(r.Servers) == 0 {
		return nil, err
	}
	env, err := ask(r)
	if err != nil {
		return nil, err
	}
	for _, name := range env {
		if reads := r.Reads(); !slices.Contains(reads, name) {
			text := "they read none"
			if len(reads) > 0 {
				text = "they read " + strings.Join(reads, ", ")
			}
			return nil, &plugin.Error{Code: "bad_variable", Message: fmt.Sprintf("no server of plugin %q reads the variable %.80q: %s", p.Name, name, text)}
		}
	}
	return &Approval{digest, r.Names(), append([]string{}, env...)}, nil
}

// askBefore is ask for a plugin that is about to be installed: one that was
// approved as it is keeps that.
func (l *Library) askBefore(p *plugin.Plugin, digest string, force bool, ask Ask) (*Approval, error) {
	if _, err := os.Lstat(filepath.Join(l.o.Plugins, p.Name)); err == nil && !force {
		return nil, nil // which is refused
	}
	before, err := approval(l.o.Switches, p.Name)
	if err != nil || before != nil && before.Digest == digest {
		return nil, err
	}
	return l.ask(p, digest, ask)
}

// ApprovePlugin asks about the servers of an installed plugin and keeps the
// answer, until something changes of what they are.
func (l *Library) ApprovePlugin(name string, ask Ask) (Plugin, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, err := l.Plugin(name)
	if err != nil {
		return Plugin{}, err
	}
	digest, err := p.Digest()
	if err != nil {
		return Plugin{}, err
	}
	yes, err := l.ask(p.Plugin, digest, ask)
	if err != nil || yes == nil {
		return p, err
	}
	if err = l.approve(p.Name, yes); err != nil {
		return p, err
	}
	return l.Plugin(name)
}

// approve keeps an approval.
func (l *Library) approve(name string, yes *Approval) error {
	err := skills.EditEntry(l.o.Switches, skills.KindPlugin, name, func(e map[string]json.RawMessage) {
		e[approvalKey], _ = json.Marshal(yes)
	})
	l.note(Change{Action: Approved, Kind: skills.KindPlugin, Name: name, Detail: strings.TrimSpace(yes.Digest + " " + strings.Join(yes.Env, " ")), Err: err})
	return err
}

const approvalKey = "approved" // of the entry of a plugin

// approval is what was approved of a plugin, nil if nothing.
func approval(switches skills.Switchboard, name string) (*Approval, error) {
	entries, err := skills.Entries(switches, skills.KindPlugin)
	if err != nil {
		return nil, err
	}
	return approvalOf(entries[name]), nil
}

func approvalOf(entry json.RawMessage) *Approval {
	var e struct {
		Approved *Approval `json:"approved"`
	}
	if json.Unmarshal(entry, &e) != nil || e.Approved == nil || e.Approved.Digest == "" {
		return nil
	}
	return e.Approved
}

// MayStart returns the approval of a plugin in its present state, or nil and the reason
// there is none. The error means that the approval cannot be read.
func MayStart(switches skills.Switchboard, p *plugin.Plugin) (yes *Approval, why string, err error) {
	yes, err = approval(switches, p.Name)
	if err != nil {
		return nil, "", fmt.Errorf("read the approval of plugin %s: %w", p.Name, err)
	}
	if yes == nil {
		return nil, "they are not approved", nil
	}
	digest, err := p.Digest()
	if err != nil {
		return nil, err.Error(), nil // files cannot be read
	}
	if digest != yes.Digest {
		return nil, "the plugin has changed since its approval", nil
	}
	return yes, "", nil
}
