// Package library is what a user manages: the skills and plugins of one
// configuration, which of them are on, and what is installed. The command line
// and the HTTP interface do the same things through it, each change under a lock
// and reported to whoever keeps the record.
package library

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/pack"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
	"github.com/mcpbroker/mcpbroker/skills/repo"
)

// Options say where a Library keeps things. Skills, and the paths, are required.
type Options struct {
	// Skills finds the skills, those of enabled plugins among them.
	Skills *skills.Registry
	// Custom is the folder that skills are installed into, and Plugins that of
	// plugins.
	Custom, Plugins string
	// Switches say what is switched off.
	Switches skills.Switchboard
	// Taken reports whether the config has a server of that name, which wins; nil
	// means that it has none.
	Taken func(server string) bool
	// PluginsOn reports by name which plugins are on unless switched, as configured;
	// all others are.
	PluginsOn map[string]bool
	// Describe says what a server of a plugin would be; an error means that it
	// would never start.
	Describe func(plugin.Server) (Run, error)
	// Note is called with each change, including failed ones; it may be nil. It is
	// called by the goroutine that makes the change.
	Note func(Change)
}

// A Library may be used by several goroutines.
type Library struct {
	o  Options
	mu *sync.Mutex // held for each change
	by string
}

// New returns a library. It looks at nothing yet.
func New(o Options) *Library { return &Library{o: o, mu: new(sync.Mutex)} }

// For returns the same library for a client, which Note gets with its changes.
func (l *Library) For(client string) *Library { return &Library{o: l.o, mu: l.mu, by: client} }

// An Action is a change of a Library.
type Action string

// The actions.
const (
	Installed Action = "installed"
	Replaced  Action = "replaced"
	Removed   Action = "removed"
	Enabled   Action = "enabled"
	Disabled  Action = "disabled"
	Approved  Action = "approved" // the servers of a plugin
	Added     Action = "added"    // a marketplace
)

// A Change is something that was done, or tried, to a skill, a plugin or a
// marketplace.
type Change struct {
	Action Action
	Kind   skills.Kind
	Name   string
	// Digest is that of the skill's SKILL.md; empty if it is none.
	Digest string
	// Detail says more, such as which commit it is.
	Detail string
	// Client is the client of the change; empty if unknown.
	Client string
	Err    error
}

func (l *Library) note(c Change) {
	if c.Client = l.by; l.o.Note != nil {
		l.o.Note(c)
	}
}

// Cause returns what an error of this package and those below it says to the
// user: a code, a sentence, and the diagnostics of what was refused. It is nil
// if the user can do nothing about it.
func Cause(err error) *pack.Error {
	if e, ok := errors.AsType[*pack.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*plugin.Error](err); ok {
		return &pack.Error{Code: e.Code, Message: e.Message}
	}
	if e, ok := errors.AsType[*repo.Error](err); ok {
		return &pack.Error{Code: e.Code, Message: e.Message}
	}
	if e, ok := errors.AsType[*skills.FileError](err); ok {
		return &pack.Error{Code: e.Code, Message: e.Message}
	}
	if e, ok := errors.AsType[*skills.SwitchesError](err); ok {
		return &pack.Error{Code: "bad_switches", Message: e.Message}
	}
	return nil
}

// Skills are the skills as they are now.
func (l *Library) Skills() *skills.Snapshot { return l.o.Skills.Refresh() }

// SwitchSkill switches a skill on or off and returns it as it is then. An
// unknown one is a *skills.FileError.
func (l *Library) SwitchSkill(name string, on bool) (*skills.Skill, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, err := l.Skills().Find(name)
	if err != nil {
		return nil, err
	}
	err = skills.SetSwitch(l.o.Switches, skills.KindSkill, k.ID(), on)
	l.note(Change{Action: switched(on), Kind: skills.KindSkill, Name: k.Ref, Digest: k.Digest(), Detail: k.Origin(), Err: err})
	if err != nil {
		return nil, err
	}
	return l.Skills().Find(k.Ref)
}

func switched(on bool) Action {
	if on {
		return Enabled
	}
	return Disabled
}

// InstallSkill installs the skill in an archive or a folder, or of a host; one of
// that name that is installed already is only replaced with force. An error of
// the source is a *pack.Error, and nothing has changed; after another one, the
// skill may be installed all the same.
func (l *Library) InstallSkill(ctx context.Context, from From, force bool) (got *pack.Installed, err error) {
	path, want := from.Path, ""
	if h := from.Hosted; h != nil {
		want = h.Entry.Name
		var done func()
		path, done, err = h.fetch(ctx)
		defer done()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		got, err = pack.Install(l.o.Custom, path, pack.Options{Name: want, Force: force, Strict: from.Strict, Within: from.Within, Anonymous: from.Upload})
	}
	change := Change{Action: Installed, Kind: skills.KindSkill, Name: from.name(), Detail: from.origin(), Err: err}
	if err == nil {
		change.Action, change.Name = installed(got.Replaced), got.Name
		for _, k := range l.Skills().All() {
			if k.Dir() == got.Path {
				change.Digest = k.Digest()
			}
		}
	}
	l.note(change)
	return got, err
}

func installed(replaced bool) Action {
	if replaced {
		return Replaced
	}
	return Installed
}

// RemoveSkill removes a skill that was installed, also one that does not load.
// One that comes from elsewhere is a *pack.Error with the code not_installed, an
// unknown one a *skills.FileError.
func (l *Library) RemoveSkill(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.Skills()
	k, unknown := before.Find(name)
	dir, folder, digest := l.o.Custom, name, ""
	if unknown == nil && k.Scope == skills.ScopeCustom {
		dir, folder = filepath.Split(filepath.Clean(k.Dir()))
		name, digest = k.Ref, k.Digest()
	}
	err := l.owns(dir)
	if err == nil {
		err = pack.Remove(dir, folder)
	}
	if e, ok := errors.AsType[*pack.Error](err); ok && e.Code == "not_found" {
		if unknown != nil {
			return unknown
		}
		text := fmt.Sprintf("skill %q was not installed here, it is %s: switch it off instead", k.Ref, k.Origin())
		if k.Scope == skills.ScopeCustom {
			text = fmt.Sprintf("skill %q was not installed, it is a link in the folder of those that are: remove the link yourself, or switch it off", k.Ref)
		}
		return &pack.Error{Code: "not_installed", Message: text}
	}
	l.note(Change{Action: Removed, Kind: skills.KindSkill, Name: name, Digest: digest, Err: err})
	if err != nil {
		return err
	}
	if _, err := l.Skills().Find(name); err == nil {
		return nil // another one has the name, and the switch is its
	}
	return l.forget(skills.KindSkill, name)
}

// owns refuses a folder that a link leads to: what is there is somebody else's.
func (l *Library) owns(dir string) error {
	own, err := filepath.EvalSymlinks(l.o.Custom)
	if err != nil {
		return nil // nothing is installed, as pack.Remove says
	}
	below, err := filepath.Rel(l.o.Custom, dir)
	if err != nil {
		return err
	}
	if at, err := filepath.EvalSymlinks(dir); err != nil || at != filepath.Join(own, below) {
		return &pack.Error{Code: "not_found", Message: "a link leads to " + dir}
	}
	return nil
}

// forget takes what is kept about something that is gone out of the file.
func (l *Library) forget(kind skills.Kind, id string) error {
	known, err := skills.Entries(l.o.Switches, kind)
	if err != nil || known[id] == nil {
		return err
	}
	return skills.EditEntry(l.o.Switches, kind, id, func(e map[string]json.RawMessage) { clear(e) })
}

// Hider returns a function that takes the paths of this host out of a text: of
// each, the last name stays.
func (l *Library) Hider() func(text string) string {
	paths := []string{l.o.Custom, l.o.Plugins, l.o.Switches.String()}
	now := l.o.Skills.Snapshot()
	for _, k := range now.All() {
		paths = append(paths, k.Dir())
	}
	for _, p := range now.Problems {
		paths = append(paths, p.Path)
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // what is deeper first
	var pairs []string
	for _, p := range slices.Compact(paths) {
		if filepath.IsAbs(p) {
			pairs = append(pairs, p, filepath.Base(p))
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
