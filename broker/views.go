package broker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker/find"
	"github.com/mcpbroker/mcpbroker/broker/skill"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/policy"
)

// A narrowing is what makes a view: no more than each of the named profiles has,
// and each of more.
type narrowing struct {
	names []string
	more  []policy.Profile
}

// unnamed returns the profiles of n.more that exclude something, as JSON, or nil.
func (n narrowing) unnamed() json.RawMessage {
	var list []policy.Profile
	for _, p := range n.more {
		if !p.HasAll() {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil
	}
	b, err := json.Marshal(list) // compared byte for byte with stored runs
	if err != nil {
		panic(err) // marshalling lists of strings cannot fail
	}
	return b
}

func (n narrowing) key() string { return string(gate.Compact([]any{n.names, n.more})) }

// profiles returns the profiles of a narrowing as configured now. A profile that no
// longer exists contains nothing.
func (n narrowing) profiles(o *options) (list []policy.Profile, gone string) {
	for _, name := range n.names {
		p, ok := o.Profiles[name]
		if !ok {
			gone = name
		}
		list = append(list, p)
	}
	return append(list, n.more...), gone
}

// HasProfile reports whether a profile of that name is configured.
func (b *Broker) HasProfile(name string) bool {
	_, ok := b.root().opts.Load().Profiles[name]
	return ok
}

// View returns a broker for clients that have no more than b has, than the
// profile of that name has, if it is not empty, and than more says. Everything
// else is unknown to them. A view shares the servers, the sandboxes and all that
// is kept with b; it follows Apply of b and ends with it. A profile that
// there is not, or not any more, has nothing.
func (b *Broker) View(profile string, more ...policy.Profile) *Broker {
	n := narrowing{slices.Clone(b.narrow.names), slices.Clone(b.narrow.more)}
	for _, p := range more {
		if !slices.ContainsFunc(n.more, func(q policy.Profile) bool { return reflect.DeepEqual(p, q) }) {
			n.more = append(n.more, p)
		}
	}
	if profile != "" && !slices.Contains(n.names, profile) {
		n.names = append(n.names, profile)
	}
	if len(n.names)+len(n.more) == 0 {
		return b
	}
	r := b.root()
	r.viewing.Lock()
	defer r.viewing.Unlock()
	if v := r.views[n.key()]; v != nil {
		return v
	}
	v := r.newView(n)
	if r.views == nil {
		r.views = make(map[string]*Broker)
	}
	r.views[n.key()] = v
	return v
}

// narrowedBy returns a view with the profiles of narrowing.unnamed.
func (b *Broker) narrowedBy(unnamed json.RawMessage) *Broker {
	var more []policy.Profile
	if err := json.Unmarshal(unnamed, &more); err != nil || len(more) == 0 {
		more = []policy.Profile{{}} // contains nothing
	}
	return b.View("", more...)
}

func (b *Broker) root() *Broker {
	if b.parent != nil {
		return b.parent
	}
	return b
}

// allViews are the views of b.
func (b *Broker) allViews() []*Broker {
	b.viewing.Lock()
	defer b.viewing.Unlock()
	return slices.Collect(maps.Values(b.views))
}

// newView returns a view of b, which must not be a view.
func (b *Broker) newView(n narrowing) *Broker {
	v := &Broker{log: b.log, parent: b, narrow: n}
	o := v.optionsOf(b.opts.Load())
	profiles, gone := n.profiles(&o)
	v.opts.Store(&o)
	v.catalog = b.catalog.View(profiles)
	v.run = b.run.View(o.run(), v.catalog)
	v.find = find.New(o.find(), v.catalog, &index.Options{Dir: o.IndexDir, Logger: o.Logger})
	v.skill = skill.New(o.skill(), skill.Parts{
		Catalog: v.catalog, Runs: v.run, Hits: v.find, IndexDir: o.IndexDir, Logger: o.Logger, Of: b.skill,
		Changed: func() { v.changed(); v.surface.Refresh() },
	})
	v.join()
	v.noteGone(gone)
	v.used.Store(true)
	if b.catalog.Serving() {
		v.changed()
	}
	return v
}

// optionsOf are those of a view of a broker with o.
func (v *Broker) optionsOf(o *options) options {
	own := *o
	profiles, _ := v.narrow.profiles(o)
	for i := range profiles {
		own.ReadOnly = own.ReadOnly || profiles[i].ReadOnly
	}
	own.Servers = slices.Clone(o.Servers)
	for i := range profiles {
		own.Servers = slices.DeleteFunc(own.Servers, func(s upstream.Config) bool { return !profiles[i].HasServer(s.Name) })
	}
	own.profile = strings.Join(v.narrow.names, "+")
	own.narrowed = v.narrow.unnamed()
	// It has its own sessions, which may contain answers of other tools.
	own.storage = "profile-" + cmp.Or(own.profile, "project")
	return own
}

// reconfigure makes a view follow its broker.
func (v *Broker) reconfigure(o *options) {
	own := v.optionsOf(o)
	profiles, gone := v.narrow.profiles(o)
	v.opts.Store(&own)
	v.catalog.Narrow(profiles)
	v.configure(&own)
	v.noteGone(gone)
}

// noteGone says in list_servers why there is nothing.
func (v *Broker) noteGone(profile string) {
	notice := ""
	if profile != "" {
		notice = fmt.Sprintf("the profile %q is not in the config, so nothing can be used", profile)
	}
	v.find.SetNotice(notice)
}

// refreshView is Refresh of a view: other servers are not configured for it.
func (v *Broker) refreshView(ctx context.Context, names []string) []upstream.Status {
	if len(names) == 0 {
		names = v.catalog.ServerNames()
	}
	known, unknown := []string{}, []upstream.Status{}
	for _, name := range names {
		if v.catalog.Has(name) {
			known = append(known, name)
		} else {
			unknown = append(unknown, upstream.Status{Name: name, State: upstream.StateFailed, Err: upstream.ErrUnknownServer})
		}
	}
	if len(known) == 0 {
		return unknown
	}
	return append(v.catalog.Pool.Refresh(ctx, known...), unknown...)
}

// profileProblems returns the patterns of the profiles that match nothing that is
// configured.
func (b *Broker) profileProblems() []string {
	var list []string
	o := b.opts.Load()
	full, _ := b.catalog.Both()
	for _, name := range slices.Sorted(maps.Keys(o.Profiles)) {
		p := o.Profiles[name]
		for _, pattern := range p.Servers {
			one := policy.Profile{Servers: []string{pattern}}
			if pattern != "*" && !slices.ContainsFunc(o.Servers, func(s upstream.Config) bool { return one.HasServer(s.Name) }) {
				list = append(list, fmt.Sprintf("profile %q: no server is called %q%s", name, pattern, nearName(pattern, b.catalog.ServerNames())))
			}
		}
		if len(b.Unlisted()) > 0 {
			continue // any of them may have it
		}
		for _, pattern := range slices.Concat(p.Allow, p.Deny) {
			one := policy.Profile{Servers: []string{"*"}, Allow: []string{pattern}}
			if pattern != "*" && len(full.Filter(one.HasTool).Tools()) == 0 && !slices.Contains([]string{discovery.GetPrompt, discovery.ReadResource}, pattern) {
				list = append(list, fmt.Sprintf("profile %q: no tool is called %q%s", name, pattern, nearName(pattern, full.SortedIDs())))
			}
		}
	}
	return list
}

// policyProblems returns the patterns of the policy that match no tool and look like
// ids of older versions. Other patterns may be for future tools.
func (b *Broker) policyProblems() []string {
	rules := b.opts.Load().Policy
	if rules == nil || len(b.Unlisted()) > 0 { // an unlisted server may have the tool
		return nil
	}
	full, _ := b.catalog.Both()
	var list []string
	for _, f := range rules.Check(full.Tools()) {
		if f.Numbered {
			text := "policy: " + f.Text + ", so it has no effect"
			if len(f.Near) > 0 {
				text += fmt.Sprintf("; did you mean %q?", f.Near[0])
			}
			list = append(list, text)
		}
	}
	return list
}

func nearName(name string, known []string) string {
	if n := nearest.Names(name, known, 1); len(n) > 0 {
		return fmt.Sprintf("; did you mean %q?", n[0])
	}
	return ""
}
