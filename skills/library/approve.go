package library

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/approvals"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
)

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
	before, err := l.approvals().Get(approvals.Plugin, p.Name)
	r.Changed = before.Digest != "" || err != nil // one that cannot be read is replaced
	return r, nil
}

// approvals returns the store of what was approved.
func (l *Library) approvals() approvals.Store { return approvals.In(l.o.Switches) }

// ask asks about the servers of a plugin. It returns nil for one without any.
func (l *Library) ask(p *plugin.Plugin, digest string, ask Ask) (*approvals.Approval, error) {
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
	return &approvals.Approval{Kind: approvals.Plugin, Subject: p.Name, Digest: digest, Servers: r.Names(), Env: append([]string{}, env...), By: l.by}, nil
}

// askBefore is ask for a plugin that is about to be installed: one that was
// approved as it is keeps that.
func (l *Library) askBefore(p *plugin.Plugin, digest string, force bool, ask Ask) (*approvals.Approval, error) {
	if _, err := os.Lstat(filepath.Join(l.o.Plugins, p.Name)); err == nil && !force {
		return nil, nil // which is refused
	}
	if before, err := l.approvals().Get(approvals.Plugin, p.Name); err == nil && before.Covers(digest) {
		return nil, nil
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
	if err = l.approve(yes); err != nil {
		return p, err
	}
	return l.Plugin(name)
}

// approve keeps an approval.
func (l *Library) approve(yes *approvals.Approval) error {
	err := l.approvals().Approve(*yes)
	l.note(Change{Action: Approved, Kind: skills.KindPlugin, Name: yes.Subject, Detail: strings.TrimSpace(yes.Digest + " " + strings.Join(yes.Env, " ")), Err: err})
	return err
}

// MayStart returns the approval of a plugin in its present state, or nil and the reason
// there is none. The error means that the approval cannot be read.
func MayStart(switches skills.Switchboard, p *plugin.Plugin) (yes *approvals.Approval, why string, err error) {
	given, err := approvals.In(switches).Get(approvals.Plugin, p.Name)
	if err != nil {
		return nil, "", err
	}
	if given.Digest == "" {
		return nil, "they are not approved", nil
	}
	digest, err := p.Digest()
	if err != nil {
		return nil, err.Error(), nil // files cannot be read
	}
	if !given.Covers(digest) {
		return nil, "the plugin has changed since its approval", nil
	}
	return &given, "", nil
}
