package app

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/quota"
	"github.com/mcpbroker/mcpbroker/broker/typecheck"
	"github.com/mcpbroker/mcpbroker/broker/vault"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/app/identity"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

// Overrides are what a command says that overrules its config.
type Overrides struct {
	// Mode is what clients see, or empty.
	Mode string
	// ReadOnly leaves out every tool that is not marked read-only.
	ReadOnly bool
	// IgnorePolicy shows what the policy hides, to look at it from outside.
	IgnorePolicy bool
}

// rules returns the policy that a broker follows, or nil.
func (o Overrides) rules(cfg *config.Config) *policy.Rules {
	if o.IgnorePolicy {
		return nil
	}
	return cfg.Rules()
}

// Settings returns the settings of a config, with what overrules them.
func (o Overrides) Settings(home *Home, log *slog.Logger) broker.Settings {
	cfg := home.Config
	set := cfg.Broker.WithDefaults()
	var wait time.Duration // the default
	if w := set.Search.Wait; w != nil {
		wait = cmp.Or(*w, -1)
	}
	return broker.Settings{
		Typecheck:           Typechecker(cfg, log),
		TypecheckStrict:     set.Typecheck == "strict",
		Skills:              home.Registry(),
		Commands:            pluginCommands(home),
		SkillBudget:         cfg.Broker.Skills.CatalogBudget,
		SkillsDir:           cfg.Broker.Skills.ContainerPath,
		Scripts:             SkillScripts(home),
		Redact:              vault.Settings{Secrets: *set.Redact.Secrets, Personal: set.Redact.Personal, Reveal: set.Redact.Patterns()},
		EnforceAllowedTools: cfg.Broker.Skills.EnforceAllowedTools,
		WorkflowHost:        workflow.Host{Name: cfg.Broker.Skills.Host, Tools: cfg.Broker.Skills.HostTools, Subagent: cfg.Broker.Skills.Subagent},
		DisableForms:        set.Skills.Forms != nil && !*set.Skills.Forms,
		Servers:             Upstreams(cfg),
		Disabled:            Disabled(cfg),
		DisabledServers:     upstreamsWhere(cfg, true),
		SkipLearning:        unlearned(cfg),
		DisableReadHints:    !*set.NotedReads,
		Mode:                broker.Mode(cmp.Or(o.Mode, set.Mode)),
		AutoThreshold:       set.AutoThreshold,
		SearchWait:          wait,
		LearnSearches:       set.Search.Learn,
		ReadOnly:            set.ReadOnly || o.ReadOnly,
		Tools:               ToolLists(cfg),
		Policy:              o.rules(cfg),
		Overrides:           ToolOverrides(cfg),
		Instructions:        instructions(cfg),
		Profiles:            policyProfiles(cfg),
		Language:            sandbox.Language(set.Language),
		Timeout:             set.Timeout,
		MaxTimeout:          set.MaxTimeout,
		MaxOutputChars:      set.MaxOutputChars,
		Limits:              scriptLimits(set.Sandbox),
	}
}

// Typechecker returns the compiler that scripts are checked with, or nil.
func Typechecker(cfg *config.Config, log *slog.Logger) *typecheck.Checker {
	o := typecheck.Options{Dirs: []string{filepath.Dir(cfg.Path)}, Logger: log}
	switch set := cfg.Broker.WithDefaults().Typecheck; set {
	case "off":
		return nil
	case "auto", "strict":
	default:
		o.Compiler = cfg.Resolve(set)
	}
	return typecheck.New(o)
}

// unlearned returns the servers that are excluded from learning.
func unlearned(cfg *config.Config) map[string]bool {
	names := map[string]bool{}
	for _, s := range cfg.Servers {
		learn := cfg.Broker.WithDefaults().Learn
		if s.Learn != nil {
			learn = s.Learn
		}
		if !*learn {
			names[s.Name] = true
		}
	}
	return names
}

// scriptLimits returns the limits of every script but for its time, which the broker sets.
func scriptLimits(s config.Sandbox) sandbox.Limits {
	return sandbox.Limits{
		MemoryBytes: s.Memory, CodeBytes: int(s.MaxCode), ResultBytes: int(s.MaxResult), OutputBytes: s.MaxOutput,
		Calls: s.MaxCalls, InFlight: s.InFlight,
	}
}

// Upstreams returns the enabled servers of a config as the upstream layer knows them.
func Upstreams(cfg *config.Config) []upstream.Config { return upstreamsWhere(cfg, false) }

// upstreamsWhere returns the enabled servers, or the disabled ones.
func upstreamsWhere(cfg *config.Config, disabled bool) []upstream.Config {
	var list []upstream.Config
	for _, s := range cfg.Servers {
		if s.Disabled != disabled {
			continue
		}
		list = append(list, upstream.Config{
			Name: s.Name, Scope: s.File, Description: s.Description,
			Command: s.Command, Args: s.Args, Env: s.Env, Dir: cfg.Resolve(s.Dir),
			AsWritten: s.Direct != nil && !*s.Direct, Permit: s.Permit,
			URL: s.URL, Headers: s.Headers, Type: s.Type,
			Credentials: upstream.Credentials(s.Credentials),
			OAuth:       identity.Upstream(s.OAuth),
			KeepAlive:   s.KeepAlive, IdleTimeout: s.IdleTimeout, StartTimeout: s.StartTimeout, CallTimeout: s.CallTimeout, MaxInFlight: s.InFlight,
			Instances: sharing.Kind(s.Instances),
		})
	}
	return list
}

// Disabled returns the names of the disabled servers of a config.
func Disabled(cfg *config.Config) (names []string) {
	for _, s := range cfg.Servers {
		if s.Disabled {
			names = append(names, s.Name)
		}
	}
	return names
}

// ToolLists returns the "tools" of the servers of a config.
func ToolLists(cfg *config.Config) policy.ToolLists {
	lists := make(policy.ToolLists)
	for _, s := range cfg.Servers {
		if len(s.Allow)+len(s.Deny) > 0 {
			lists[s.Name] = policy.ToolList{Allow: s.Allow, Deny: s.Deny}
		}
	}
	return lists
}

// instructions returns what models read of the instructions of the servers of a config.
func instructions(cfg *config.Config) map[string]discovery.InstructionsSetting {
	all := make(map[string]discovery.InstructionsSetting)
	for _, s := range cfg.Servers {
		all[s.Name] = discovery.InstructionsSetting(s.Instructions)
	}
	return all
}

// ToolOverrides returns how a config changes the tools of its servers.
func ToolOverrides(cfg *config.Config) map[string]discovery.Overrides {
	all := make(map[string]discovery.Overrides)
	for _, s := range cfg.Servers {
		for name, o := range s.Overrides {
			if all[s.Name] == nil {
				all[s.Name] = make(discovery.Overrides)
			}
			all[s.Name][name] = discovery.Override(o)
		}
	}
	return all
}

// quotaRules returns the quotas of a config, which has checked them.
func quotaRules(cfg *config.Config) []*quota.Rule {
	var rules []*quota.Rule
	for _, q := range cfg.Broker.Quotas {
		r := &quota.Rule{Executions: q.Executions > 0, Names: q.Tools, Profile: q.Profile, Amount: max(q.Calls, q.Executions), Every: q.Every, Burst: q.Burst, Where: q.Where}
		patterns, _ := policy.NewPatterns(q.Tools)
		r.Tools = patterns.Restricting()
		for _, d := range q.Per {
			r.Per = append(r.Per, quota.Dimension(d))
		}
		rules = append(rules, r)
	}
	return rules
}

// AllowAlways adds a rule that allows tools to the policy of a config.
func AllowAlways(path string, tools []string) error {
	return config.Edit(path, func(data []byte) ([]byte, error) { return config.AllowTools(data, tools) })
}
