package host

import (
	"cmp"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/broker/console"
	"github.com/mcpbroker/mcpbroker/broker/script"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/accounts"
	"github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/identity"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/redact"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
)

// manageOverHTTP returns the HTTP interface of a running broker, for clients with
// tokens and for the console. Changes are in force when they are answered.
func manageOverHTTP(a *app.App, w *Watcher, tokens map[string]string, limits map[string]broker.TokenLimits, issued issued, page *console.Console, c ConsoleOptions) (http.Handler, error) {
	set := a.Config.Broker.HTTP
	admin, err := a.Options().Sources.Expand(set.AdminToken)
	switch {
	case err != nil:
		return nil, app.Usagef("", "http.adminToken: %w", err)
	case admin == "" && set.AdminToken != "":
		return nil, app.Usagef("", "http.adminToken is empty: an empty token would let anybody change things")
	}
	for name, t := range tokens {
		if t == admin && admin != "" {
			return nil, app.Usagef("", "http.adminToken is also the token of %q, who could change things then: give it one of its own", name)
		}
	}
	o := apiOptions(a, w, c)
	o.Tokens, o.AdminToken, o.Owner = tokens, admin, identity.OwnerOf(tokens, limits)
	o.TokensOnly = func() bool { return set.SignIn.Issuer != "" || issued.Any() }
	o.Issued = func(token string) string {
		client, l, ok := issued.Owner(token)
		if _, taken := tokens[client]; !ok || taken || l.Profile != "" || l.Expired() {
			return ""
		}
		return client
	}
	o.Session = consoleSession(page, a.Accounts)
	if set.Console != nil {
		o.Enter = "sign in at " + identity.PublicURL(set) + "/console/"
	}
	return api.New(o), nil
}

// consoleSession returns the function that finds the session of a request: of a console
// opened with a token, or of a person who has signed in.
func consoleSession(page *console.Console, people *accounts.Service) func(*http.Request) (api.Session, error) {
	return func(r *http.Request) (api.Session, error) {
		if in, changes := page.Session(r); in || people == nil {
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

// apiOptions returns the options of the HTTP interface, without those that say who may use
// it.
func apiOptions(a *app.App, w *Watcher, c ConsoleOptions) api.Options {
	path := a.Config.Path
	return api.Options{
		Cancel:  a.State.Cancel,
		Library: w.Library, Tools: func(k *skills.Skill) []skills.Tool { return a.Root.SkillTools(k) }, Owner: surface.TokenOwner, Changed: w.Now, Logger: a.State.Logger,
		Always:     func(tools []string) error { return app.AllowAlways(path, tools) },
		Reader:     &api.Reader{Broker: a.Broker, Audit: a.Audit, Runs: a.Runs, Pins: a.Pins, Tokens: a.State.Vault()},
		Note:       a.Audit.Note,
		SaveScript: func(name, description, code string) (any, error) { return saveScript(a, name, description, code) },
		Settings:   func() (any, error) { return settings(a) },
		Servers:    consoleServers{config.ServerFile(path), a.Live, c.SecretNotes},
		FileRead: func(k *skills.Skill, client, path string, err error) {
			e := app.SkillEvent(state.EventSkillFileRead, k, path, err)
			e.Client = client
			a.Audit.Note(e)
		},
	}
}

func saveScript(a *app.App, name, description, code string) (any, error) {
	if strings.TrimSpace(code) == "" {
		return nil, errors.New("the script is empty")
	}
	saved, err := a.State.Scripts(app.SavedScripts(a.Config)).Save(script.Script{Name: name, Description: description, Code: code})
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
}

// settings returns the values in force: those of flags above those of the file.
func settings(a *app.App) ([]config.Setting, error) {
	data, err := os.ReadFile(a.Config.Path)
	if err != nil {
		return nil, err
	}
	list, err := config.Settings(a.Config.Path, data)
	if err != nil {
		return nil, err
	}
	o := a.Options()
	var above []config.Setting
	for flag, v := range map[string]string{"mode": o.Mode, "profile": o.Profile, "readOnly": map[bool]string{true: "true"}[o.ReadOnly]} {
		if v != "" {
			list = slices.DeleteFunc(list, func(s config.Setting) bool { return s.Key == "broker."+flag })
			above = append(above, config.Setting{Key: "broker." + flag, Value: v, From: "command line"})
		}
	}
	if a.Config.Managed != nil {
		above = append(above, config.Setting{Key: "policy", Value: "above that of this file", From: o.ManagedPath})
	}
	slices.SortFunc(above, func(a, b config.Setting) int { return strings.Compare(a.Key, b.Key) })
	return append(above, list...), nil
}

// consoleServers changes the servers of the config for the console.
type consoleServers struct {
	file  config.ServerFile
	live  func() *config.Config // the config in force
	notes func(name string, entry config.Object) []string
}

// Disabled implements api.ServerConfig.
func (c consoleServers) Disabled() (list []broker.ServerInfo) {
	for _, s := range c.live().Servers {
		if s.Disabled {
			list = append(list, broker.ServerInfo{Name: s.Name, Description: s.Description, Transport: cmp.Or(s.Type, "http")})
		}
	}
	return list
}

// Add implements api.ServerConfig.
func (c consoleServers) Add(n api.NewServer) (notes []string, err error) {
	entry := config.EntryOf(config.Server{Description: n.Description, Type: n.Type, Command: n.Command, Args: n.Args, URL: n.URL, Env: n.Env, Headers: n.Headers, Disabled: n.Disabled})
	if err := c.file.Add(n.Name, entry); err != nil {
		return nil, err
	}
	return c.notes(n.Name, entry), nil
}

// Enable implements api.ServerConfig.
func (c consoleServers) Enable(name string, on bool) error { return c.file.Enable(name, on) }
