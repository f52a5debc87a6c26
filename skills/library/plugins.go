package library

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/approvals"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/pack"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
	"github.com/mcpbroker/mcpbroker/skills/repo"
)

// A Plugin is an installed one.
type Plugin struct {
	*plugin.Plugin
	Enabled bool `json:"enabled"`
	// Overridden are the names of its servers that the config also has; those of the
	// config are used.
	Overridden []string `json:"overridden_servers"`
	// Skills are the names of its skills, as plugin:skill.
	Skills []string `json:"skills"`
	// Source is the commit that it was installed from; nil if it came from a file
	// or a folder.
	Source *repo.Source `json:"source,omitempty"`
	// Approved is what the user has allowed of its servers as they are now; nil
	// means that they do not start.
	Approved *approvals.Approval `json:"approved"`
}

// pluginOn reports whether a plugin is on: what a command has switched counts, then
// what the config says.
func pluginOn(s skills.Switches, config map[string]bool, name string) bool {
	if on, said := s.Switched(skills.KindPlugin, name); said {
		return on
	}
	on, said := config[name]
	return on || !said
}

// EnabledPlugins returns the plugins installed in dir that are on, by the switches or
// else by config, as in Options.PluginsOn. It does not read the switches if there are
// no plugins. If it cannot read them, it returns an error and no plugins.
func EnabledPlugins(dir string, switches skills.Switchboard, config map[string]bool) (list []*plugin.Plugin, problems []skills.Problem, err error) {
	all, problems := plugin.Installed(dir)
	if len(all) == 0 {
		return nil, problems, nil
	}
	off, err := skills.ReadSwitches(switches)
	if err != nil {
		return nil, nil, fmt.Errorf("read which plugins are on: %w", err)
	}
	for _, p := range all {
		if pluginOn(off, config, p.Name) {
			list = append(list, p)
		}
	}
	return list, problems, nil
}

// Plugins are the installed plugins, sorted by name, and what is wrong with
// them.
func (l *Library) Plugins() ([]Plugin, []skills.Problem, error) {
	off, err := skills.ReadSwitches(l.o.Switches)
	if err != nil {
		return nil, nil, err
	}
	entries, err := skills.Entries(l.o.Switches, skills.KindPlugin)
	if err != nil {
		return nil, nil, err
	}
	list, problems := plugin.Installed(l.o.Plugins)
	all := []Plugin{}
	for _, p := range list {
		one := Plugin{Plugin: p, Enabled: pluginOn(off, l.o.PluginsOn, p.Name), Overridden: []string{}, Skills: []string{}}
		for _, s := range p.Servers {
			if l.o.Taken != nil && l.o.Taken(s.Name) {
				one.Overridden = append(one.Overridden, s.Name)
			}
		}
		reg := skills.NewRegistry(&skills.Options{Roots: func() ([]skills.Root, []skills.Problem) { return p.Roots(), nil }})
		for _, s := range reg.Refresh().All() {
			one.Skills = append(one.Skills, s.ID())
		}
		var entry struct {
			Source *repo.Source `json:"source"`
		}
		if json.Unmarshal(entries[p.Name], &entry) == nil {
			one.Source = entry.Source
		}
		if len(p.Servers) > 0 {
			one.Approved, _, _ = MayStart(l.o.Switches, p) // on an error it is not approved
		}
		all = append(all, one)
	}
	return all, append(problems, l.unknownPlugins(list)...), nil
}

// unknownPlugins are the problems of names that the config says something of and
// that no plugin of the list has.
func (l *Library) unknownPlugins(list []*plugin.Plugin) (problems []skills.Problem) {
	for _, name := range slices.Sorted(maps.Keys(l.o.PluginsOn)) {
		if !slices.ContainsFunc(list, func(p *plugin.Plugin) bool { return p.Name == name }) {
			problems = append(problems, skills.Problem{Path: l.o.Plugins, Diagnostic: skills.Diagnostic{Code: "unknown_plugin", Severity: skills.Warning,
				Message: fmt.Sprintf("the config switches plugin %.80q, which is not installed", name)}})
		}
	}
	return problems
}

// Plugin is the installed plugin of that name. An unknown one is a
// *plugin.Error with the nearest names.
func (l *Library) Plugin(name string) (Plugin, error) {
	list, _, err := l.Plugins()
	if err != nil {
		return Plugin{}, err
	}
	var known []string
	for _, p := range list {
		if p.Name == name {
			return p, nil
		}
		known = append(known, p.Name)
	}
	return Plugin{}, unknown("plugin", name, known)
}

// unknown is the error for a name that is not among the known ones.
func unknown(what, name string, known []string) error {
	text := fmt.Sprintf("unknown %s %.80q", what, name) + nearest.Hint(name, known, "there are", "there are none")
	return &plugin.Error{Code: what + "_not_found", Message: text}
}

// SwitchPlugin switches a plugin on or off and returns it as it is then.
func (l *Library) SwitchPlugin(name string, on bool) (Plugin, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, err := l.Plugin(name)
	if err != nil {
		return Plugin{}, err
	}
	err = skills.SetSwitch(l.o.Switches, skills.KindPlugin, p.Name, on)
	l.note(Change{Action: switched(on), Kind: skills.KindPlugin, Name: p.Name, Err: err})
	if err == nil {
		p.Enabled = on
	}
	return p, err
}

// InstallPlugin installs a plugin. It replaces an installed one only with force, and
// reports that in replaced. The notes say what was left out of a repository or a
// folder. A plugin with servers is only installed if ask agrees or exactly these
// servers were approved before. After an error of the source (see Cause) or of ask,
// nothing has changed.
func (l *Library) InstallPlugin(ctx context.Context, from From, force bool, ask Ask) (p Plugin, replaced bool, notes []string, err error) {
	path, source := from.Path, from.Repo
	o := pack.Options{Force: force, Within: from.Within, Anonymous: from.Upload}
	var entry json.RawMessage
	if from.Offer != nil {
		o.Name, o.Within, entry = from.Offer.Name, from.Offer.market.Dir, from.Offer.Entry
		path, source = from.Offer.locate()
	}
	if path == "" && source != nil {
		var done func()
		path, source, notes, done, err = fetch(ctx, *source)
		defer done()
		o.Within = path
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		var more []string
		p, replaced, more, err = l.installPlugin(path, entry, source, o, ask)
		notes = append(notes, more...)
	}
	change := Change{Action: installed(replaced), Kind: skills.KindPlugin, Name: from.name(), Detail: from.origin(), Err: err}
	if err == nil {
		change.Name = p.Name
		if p.Source != nil {
			change.Detail = p.Source.URL + " " + p.Source.Commit
		}
	}
	l.note(change)
	return p, replaced, notes, err
}

func (l *Library) installPlugin(path string, entry json.RawMessage, from *repo.Source, o pack.Options, ask Ask) (p Plugin, replaced bool, notes []string, err error) {
	var yes *approvals.Approval
	got, replaced, notes, err := plugin.Install(l.o.Plugins, path, entry, o, func(p *plugin.Plugin, digest string) (err error) {
		yes, err = l.askBefore(p, digest, o.Force, ask)
		return err
	})
	if err != nil {
		return Plugin{}, replaced, notes, err
	}
	err = skills.EditEntry(l.o.Switches, skills.KindPlugin, got.Name, func(e map[string]json.RawMessage) {
		delete(e, "source") // that of the one before
		if from != nil {
			e["source"], _ = json.Marshal(from)
		}
	})
	if err == nil && yes != nil {
		err = l.approve(yes)
	}
	if err != nil {
		return Plugin{}, replaced, notes, err
	}
	p, err = l.Plugin(got.Name)
	return p, replaced, notes, err
}

// RemovePlugin removes a plugin, and what is kept about it and its skills: what
// was allowed of them is not that of another plugin of this name.
func (l *Library) RemovePlugin(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, err := l.Plugin(name)
	if err != nil {
		return err
	}
	err = pack.Remove(l.o.Plugins, filepath.Base(p.Dir))
	l.note(Change{Action: Removed, Kind: skills.KindPlugin, Name: p.Name, Err: err})
	if err != nil {
		return err
	}
	known, err := skills.Entries(l.o.Switches, skills.KindSkill)
	if err != nil {
		return err
	}
	for id := range known {
		// What a server serves has an address, and may begin as a plugin's do.
		if strings.HasPrefix(id, p.Name+":") && !strings.Contains(id, "://") {
			if err := l.forget(skills.KindSkill, id); err != nil {
				return err
			}
		}
	}
	return l.forget(skills.KindPlugin, p.Name)
}
