package main

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/broker/console"
	"github.com/mcpbroker/mcpbroker/broker/script"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/accounts"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/identity"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/redact"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/skills/pack"
	"github.com/mcpbroker/mcpbroker/state"
)

// recorded returns the library for a command, which records changes.
func (a *app) recorded(h *application.Home) *library.Library {
	return h.Library(func(c library.Change) { a.record(h.Config, application.ChangeEvent(c, application.ClientCLI)) })
}

// withLibrary is a command's RunE that does f with the library of the config.
func (a *app) withLibrary(f func(ctx context.Context, l *library.Library, h *application.Home, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.withHome(func(h *application.Home, args []string) error {
			return f(cmd.Context(), a.recorded(h), h, args)
		})(cmd, args)
	}
}

// record adds an event of a command to the record. If the record cannot be written, the
// command continues.
func (a *app) record(cfg *config.Config, e state.Event) {
	dir, err := a.stateOf(cfg.Path)
	if err == nil {
		err = noteIn(e, func() (*application.State, error) { return a.openPrepared(cfg, dir) })
	}
	a.noted(e, err)
}

// note is record for commands that read no config.
func (a *app) note(e state.Event) {
	a.noted(e, noteIn(e, a.openAnyState))
}

func noteIn(e state.Event, open func() (*application.State, error)) error {
	st, err := open()
	if err != nil {
		return err
	}
	defer st.Close()
	store, err := st.Audit(context.Background(), Unpruned)
	if err != nil {
		return err
	}
	store.Note(e)
	return store.Close()
}

func (a *app) noted(e state.Event, err error) {
	if err != nil {
		a.logger().Warn("record", "kind", e.Kind, "err", err)
	}
}

// Unpruned opens a record from which nothing goes by itself.
var Unpruned = state.AuditOptions{Days: -1, MaxBytes: -1, Keep: state.Keep{Code: true}}

// manageOverHTTP returns the HTTP interface of a running broker, for clients with
// tokens and for the console. Changes are in force when they are answered.
func (a *app) manageOverHTTP(s *App, w *watcher, tokens map[string]string, limits map[string]broker.TokenLimits, issued issued, c *console.Console) (http.Handler, error) {
	admin, err := expand(s.Config.Broker.HTTP.AdminToken)
	switch {
	case err != nil:
		return nil, cli.Usagef("http.adminToken: %w", err)
	case admin == "" && s.Config.Broker.HTTP.AdminToken != "":
		return nil, cli.Usagef("http.adminToken is empty: an empty token would let anybody change things")
	}
	for name, t := range tokens {
		if t == admin && admin != "" {
			return nil, cli.Usagef("http.adminToken is also the token of %q, who could change things then: give it one of its own", name)
		}
	}
	o := a.apiOptions(s, w)
	o.Tokens, o.AdminToken, o.Owner = tokens, admin, identity.OwnerOf(tokens, limits)
	o.TokensOnly = func() bool { return s.Config.Broker.HTTP.SignIn.Issuer != "" || issued.Any() }
	o.Issued = func(token string) string {
		client, l, ok := issued.Owner(token)
		if _, taken := tokens[client]; !ok || taken || l.Profile != "" || l.Expired() {
			return ""
		}
		return client
	}
	o.Session = consoleSession(c, s.Accounts)
	if cfg := s.Config.Broker.HTTP; cfg.Console != nil {
		o.Enter = "sign in at " + identity.PublicURL(cfg) + "/console/"
	}
	return api.New(o), nil
}

// consoleSession returns the function that finds the session of a request: of a console
// opened with a token, or of a person who has signed in.
func consoleSession(c *console.Console, people *accounts.Service) func(*http.Request) (api.Session, error) {
	return func(r *http.Request) (api.Session, error) {
		if in, changes := c.Session(r); in || people == nil {
			return api.Session{In: in, Changes: changes}, nil
		}
		v, err := people.Session(r)
		switch {
		case v.Person == nil || err != nil:
			return api.Session{}, err
		case v.Denied != nil:
			return api.Session{Denied: v.Denied.Error()}, nil
		}
		return api.Session{In: true, Changes: v.Changes, Person: v.Person}, nil
	}
}

// apiOptions are those of the HTTP interface, but for who may use it.
func (a *app) apiOptions(s *App, w *watcher) api.Options {
	return api.Options{
		Cancel:  s.State.Cancel,
		Library: w.library, Tools: func(k *skills.Skill) []skills.Tool { return s.Root.SkillTools(k) }, Owner: surface.TokenOwner, Changed: w.now, Logger: a.logger(),
		Always: func(tools []string) error { return application.AllowAlways(s.Config.Path, tools) },
		Reader: &api.Reader{Broker: s.Broker, Audit: s.Audit, Runs: s.Runs, Pins: s.Pins, Tokens: s.State.Vault()},
		Note:   s.Audit.Note,
		SaveScript: func(name, description, code string) (any, error) {
			if strings.TrimSpace(code) == "" {
				return nil, errors.New("the script is empty")
			}
			saved, err := s.State.Scripts(application.SavedScripts(s.Config)).Save(script.Script{Name: name, Description: description, Code: code})
			if err != nil {
				return nil, err
			}
			var warning string
			if redact.Text(saved.Code) != saved.Code {
				warning = saved.Name + " holds what looks like a secret"
			}
			saved.Code = "" // the page has it
			return struct {
				script.Script
				Warning string `json:"warning,omitempty"`
			}{*saved, warning}, nil
		},
		Settings: func() (any, error) { return a.settings(s.Config) },
		Servers:  consoleServers{config.ServerFile(s.Config.Path), s.live.Load},
		FileRead: func(k *skills.Skill, client, path string, err error) {
			e := application.SkillEvent(state.EventSkillFileRead, k, path, err)
			e.Client = client
			s.Audit.Note(e)
		},
	}
}

// settings are the values in force: those of flags above those of the file.
func (a *app) settings(cfg *config.Config) ([]config.Setting, error) {
	data, err := os.ReadFile(cfg.Path)
	if err != nil {
		return nil, err
	}
	list, err := config.Settings(cfg.Path, data)
	if err != nil {
		return nil, err
	}
	var above []config.Setting
	for flag, v := range map[string]string{"mode": a.mode, "profile": a.chosenProfile(), "readOnly": map[bool]string{true: "true"}[a.readOnly]} {
		if v != "" {
			list = slices.DeleteFunc(list, func(s config.Setting) bool { return s.Key == "broker."+flag })
			above = append(above, config.Setting{Key: "broker." + flag, Value: v, From: "command line"})
		}
	}
	if cfg.Managed != nil {
		above = append(above, config.Setting{Key: "policy", Value: "above that of this file", From: managedPath})
	}
	slices.SortFunc(above, func(a, b config.Setting) int { return strings.Compare(a.Key, b.Key) })
	return append(above, list...), nil
}

// checkSkillsPath says what is wrong with the folder of --skills. install says that
// it need not be there yet.
func (a *app) checkSkillsPath(install bool) error {
	if a.skillsPath == "" {
		return nil
	}
	info, err := os.Stat(a.skillsPath)
	if err == nil && info.IsDir() || install && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return cli.Usagef("--skills: %s is not a directory", a.skillsPath)
}

// overrule puts the folder of --skills in the place of the config's.
func (a *app) overrule(cfg *config.Config) {
	if a.skillsPath != "" {
		if abs, err := filepath.Abs(a.skillsPath); err == nil {
			cfg.Broker.Skills.Path = abs
		}
	}
}

// sourceError makes what is wrong with a source, a name or a repository one line
// and a code, and for --json an object with the diagnostics.
func (a *app) sourceError(err error) error {
	e := library.Cause(err)
	if e == nil {
		return err
	}
	if a.JSON {
		if err := a.PrintJSON(map[string]any{"error": map[string]any{"code": e.Code, "message": e.Message, "diagnostics": append([]skills.Diagnostic{}, e.Diagnostics...)}}); err != nil {
			return err
		}
		return cli.Exit(exitOf(e), nil)
	}
	return cli.Exit(exitOf(e), &pack.Error{Code: e.Code, Message: e.Message + " [" + e.Code + "]"})
}

// exitOf is the exit code of an error about a source; a name that is not known
// is wrong usage.
func exitOf(e *pack.Error) int {
	if strings.HasSuffix(e.Code, "_not_found") || e.Code == "not_installed" || e.Code == "bad_repository" {
		return cli.ExitUsage
	}
	return cli.ExitFailed
}
