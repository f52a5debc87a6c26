package app

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
)

// A Home is where skills and plugins are found and kept.
type Home struct {
	Config   *config.Config // without a file it holds defaults
	Skills   string         // the folder with custom/
	Plugins  string
	Switches skills.Switchboard

	Close func() error // closes the switches; nil if their state is closed elsewhere

	Found *skills.Registry // the skills, including those of servers; nil before servers were asked
}

// NewHome returns where the skills and plugins of a config are.
func NewHome(cfg *config.Config, switches skills.Switchboard) *Home {
	h := &Home{Config: cfg, Switches: switches}
	h.Skills = h.Resolve(cmp.Or(h.Config.Broker.Skills.Path, "skills"))
	h.Plugins = h.Resolve(cmp.Or(h.Config.Broker.Plugins.Path, "plugins"))
	return h
}

// SwitchFile returns the file beside a config that switches its skills and plugins.
func SwitchFile(cfg *config.Config) skills.SwitchFile {
	return skills.SwitchFile(cfg.Resolve(strings.TrimSuffix(filepath.Base(cfg.Path), filepath.Ext(cfg.Path)) + ".state.json"))
}

// Resolve returns a path of the config as an absolute one; ~ is the user's folder.
func (h *Home) Resolve(path string) string {
	if rest, ok := strings.CutPrefix(filepath.ToSlash(path), "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, filepath.FromSlash(rest))
		}
	}
	return h.Config.Resolve(path)
}

// Custom returns the folder of skills that commands install.
func (h *Home) Custom() string { return filepath.Join(h.Skills, string(skills.ScopeCustom)) }

// CodeSkillsOff is the code of the problem that the config switches skills off.
const CodeSkillsOff = "skills_off"

// Registry returns the registry of the skills that the config names.
func (h *Home) Registry() *skills.Registry {
	if h.Found != nil {
		return h.Found
	}
	s := h.Config.Broker.Skills
	o := &skills.Options{Switches: h.Switches, Include: s.Include, Exclude: s.Exclude}
	if s.Enabled != nil && !*s.Enabled {
		o.Off = `skills are switched off in the config: "enabled" of "skills" is false`
		o.Roots = func() ([]skills.Root, []skills.Problem) {
			return nil, []skills.Problem{{Path: h.Config.Path, Diagnostic: skills.Diagnostic{Code: CodeSkillsOff, Severity: skills.Warning, Message: o.Off}}}
		}
	} else {
		folders := h.folders()
		o.Roots = func() ([]skills.Root, []skills.Problem) {
			roots, problems := folders.Roots()
			list, more, _ := library.EnabledPlugins(h.Plugins, h.Switches, h.Config.Broker.Plugins.Enabled) // the registry reports problems
			for _, p := range list {
				roots = append(roots, p.Roots()...)
			}
			for _, p := range more {
				// Servers and commands are the business of "plugins list".
				if !slices.Contains([]string{"server_no_endpoint", "bad_servers", "bad_command"}, p.Code) {
					problems = append(problems, p)
				}
			}
			return roots, problems
		}
	}
	return skills.NewRegistry(o)
}

// folders returns where skills are looked for.
func (h *Home) folders() skills.Places {
	s := h.Config.Broker.Skills
	p := skills.Places{Path: h.Skills, Scan: s.Scan == nil || *s.Scan, Env: os.Getenv("AGENT_SKILLS_PATH"), Trusted: h.trusts}
	for _, path := range s.Paths {
		p.Paths = append(p.Paths, h.Resolve(path))
	}
	// Without either, there is less to look into, and nothing is wrong.
	p.Dir, _ = os.Getwd()
	p.Home, _ = os.UserHomeDir()
	return p
}

// trusts reports whether the skills of a project are used.
func (h *Home) trusts(project string) bool {
	s := h.Config.Broker.Skills
	return s.TrustProject || slices.ContainsFunc(s.TrustedProjects, func(dir string) bool {
		rel, err := filepath.Rel(h.Resolve(dir), project)
		return err == nil && filepath.IsLocal(rel)
	})
}

// Library returns the library of skills and plugins of a config; it calls note with
// changes.
func (h *Home) Library(note func(library.Change)) *library.Library {
	return library.New(library.Options{
		Skills: h.Registry(), Custom: h.Custom(), Plugins: h.Plugins, Switches: h.Switches, Taken: HasServer(h.Config), PluginsOn: h.Config.Broker.Plugins.Enabled, Describe: DescribePluginServer, Note: note,
	})
}

// SkillScripts returns the settings for running the scripts of skills.
func SkillScripts(h *Home) broker.Scripts {
	s := h.Config.Broker.Skills
	o := broker.Scripts{
		Mode: broker.ScriptMode(s.Scripts), Timeout: s.ScriptTimeout, MaxOutput: int(s.ScriptMaxOutput),
		Cwd: s.ScriptCwd, Image: s.ScriptImage, Env: s.ScriptEnv, Approvals: h.Switches,
	}
	if o.Mode == broker.ScriptsSandbox && o.Image == "" {
		o.Programs = docker.Programs()
	}
	if o.Cwd != "" && o.Cwd != "skill" && o.Cwd != "tmp" {
		o.Cwd = h.Resolve(o.Cwd)
	}
	return o
}
