package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/approvals"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/words"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
)

// WithPlugins returns a config with the approved servers of enabled plugins after its
// own, each as plugin:server. A server of the config with the same name takes
// precedence. Problems of a plugin's servers become notes. It returns an error if it
// cannot read which plugins are enabled or approved.
func WithPlugins(h *Home) (*config.Config, error) {
	cfg := h.Config
	if merge := cfg.Broker.Plugins.AutoMergeMCP; merge != nil && !*merge {
		return cfg, nil
	}
	plugins, _, err := h.EnabledPlugins()
	if err != nil {
		return nil, err
	}
	merged := *cfg
	merged.Servers, merged.Notes = slices.Clone(cfg.Servers), slices.Clone(cfg.Notes)
	for _, p := range plugins {
		for _, problem := range p.Problems {
			if problem.Code == "server_no_endpoint" || problem.Code == "bad_servers" {
				merged.Notes = append(merged.Notes, problem.Path+": "+problem.Message)
			}
		}
	}
	for _, p := range plugins {
		servers := plugin.Servers([]*plugin.Plugin{p}, HasServer(cfg))
		if len(servers) == 0 {
			continue
		}
		yes, why, err := library.MayStart(h.Switches, p)
		if err != nil {
			return nil, err
		}
		if yes == nil {
			merged.Notes = append(merged.Notes, fmt.Sprintf("warning: %s of plugin %s will not start: %s: broker plugins approve %s", words.Count(len(servers), "server"), p.Name, why, p.Name))
			continue
		}
		for _, s := range servers {
			addPluginServer(&merged, s, yes, plugin.Permit{Dir: p.Dir, Digest: yes.Digest})
		}
	}
	return &merged, nil
}

// WithPluginsOrNote is WithPlugins for a command: if that fails, it returns the config
// with a note and without servers of plugins.
func WithPluginsOrNote(h *Home) *config.Config {
	cfg := h.Config
	merged, err := WithPlugins(h)
	if err == nil {
		return merged
	}
	noted := *cfg
	noted.Notes = append(slices.Clone(cfg.Notes), "warning: the servers of plugins are left out: "+words.Line(err.Error(), 300))
	return &noted
}

// noBytecode keeps Python from writing beside its programs, which would not be the
// plugin then that was approved.
const noBytecode = "PYTHONDONTWRITEBYTECODE"

// addPluginServer adds a server of a plugin as the user has approved it.
func addPluginServer(merged *config.Config, s plugin.Server, yes *approvals.Approval, permit plugin.Permit) {
	note := func(format string, args ...any) {
		merged.Notes = append(merged.Notes, fmt.Sprintf("warning: server %s of a plugin "+format, append([]any{words.Line(s.Name, 100)}, args...)...))
	}
	entry, err := pluginServer(s)
	switch {
	case err != nil:
		note("is left out: %s", words.Line(err.Error(), 300))
		return
	case !slices.Contains(yes.Servers, s.Name):
		note("is left out: it was not shown when the plugin was approved")
		return
	}
	entry, withheld := entry.Restricted(yes.Env)
	for _, name := range withheld {
		if secret, ok := strings.CutPrefix(name, "keyring:"); ok {
			note("gets nothing from the keyring: ${keyring:%s} is empty", words.Line(secret, 80))
			continue
		}
		note("does not get the variable %s: broker plugins approve %s --env %s", name, strings.SplitN(s.Name, ":", 2)[0], name)
	}
	if _, set := entry.Env[noBytecode]; entry.Command != "" && !set {
		if entry.Env == nil {
			entry.Env = map[string]string{}
		}
		entry.Env[noBytecode] = "1"
	}
	if entry.Command != "" {
		entry.Permit = permit
	}
	merged.Servers = append(merged.Servers, entry)
}

// DescribePluginServer returns what a server of a plugin would run and read.
func DescribePluginServer(s plugin.Server) (library.Run, error) {
	entry, err := pluginServer(s)
	if err != nil {
		return library.Run{}, err
	}
	variables, _ := entry.Reads()
	return library.Run{Name: s.Name, Runs: CommandLine(entry), Reads: append([]string{}, variables...)}, nil
}

// CommandLine returns the command line of a server with its environment, or its address
// with its headers.
func CommandLine(s config.Server) string {
	var line []string
	if s.Remote() {
		line = append(line, s.URL)
		for _, k := range slices.Sorted(maps.Keys(s.Headers)) {
			line = append(line, "-H", words.Shell(k+": "+s.Headers[k]))
		}
		return strings.Join(line, " ")
	}
	if s.Dir != "" {
		line = append(line, "cd", words.Shell(s.Dir), "&&")
	}
	for _, k := range slices.Sorted(maps.Keys(s.Env)) {
		line = append(line, k+"="+words.Shell(s.Env[k]))
	}
	line = append(line, words.Shell(s.Command))
	for _, a := range s.Args {
		line = append(line, words.Shell(a))
	}
	return strings.Join(line, " ")
}

// HasServer returns a function that reports whether a config has a server of its
// own of that name.
func HasServer(cfg *config.Config) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return s.Name == name && !s.OfPlugin })
	}
}

// EnabledPlugins returns the plugins of a config that are switched on, and the problems of
// plugins.
func (h *Home) EnabledPlugins() ([]*plugin.Plugin, []skills.Problem, error) {
	return library.EnabledPlugins(h.Plugins, h.Switches, h.Config.Broker.Plugins.Enabled)
}

// pluginServer reads a server of a plugin as if it stood in the config.
func pluginServer(s plugin.Server) (config.Server, error) {
	doc, err := json.Marshal(map[string]any{"mcpServers": map[string]json.RawMessage{s.Name: s.Config}})
	if err != nil {
		return config.Server{}, err
	}
	one, err := config.Parse("plugin "+strings.SplitN(s.Name, ":", 2)[0], doc)
	if err != nil {
		return config.Server{}, err
	}
	if len(one.Servers) != 1 {
		return config.Server{}, errors.New("not a server")
	}
	one.Servers[0].OfPlugin = true
	return one.Servers[0], nil
}

// pluginCommands returns the commands of the plugins that are switched on.
func pluginCommands(h *Home) []plugin.Command {
	plugins, _, _ := h.EnabledPlugins() // WithPluginsOrNote reports problems
	var list []plugin.Command
	for _, p := range plugins {
		list = append(list, p.Commands...)
	}
	return list
}

// PluginState returns a text that identifies the state of the plugins' servers and
// commands. It returns an error if the state cannot be read.
func PluginState(h *Home) (string, error) {
	plugins, _, err := h.EnabledPlugins()
	if err != nil {
		return "", err
	}
	type state struct {
		*plugin.Plugin
		Approved *approvals.Approval
		Why      string
	}
	var states []state
	for _, p := range plugins {
		yes, why, err := library.MayStart(h.Switches, p)
		if err != nil {
			return "", err
		}
		if yes != nil {
			yes.By, yes.At = "", time.Time{} // approved again, the servers are the same
		}
		states = append(states, state{p, yes, why})
	}
	text, err := json.Marshal(states)
	return string(text), err
}
