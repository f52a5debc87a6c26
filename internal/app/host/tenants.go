package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/words"
	"github.com/mcpbroker/mcpbroker/policy"
)

// A tenantHost serves the clients of a daemon. Most share one broker; those in a project,
// and those with other values of the variables that servers read, are served by the
// broker of a tenant, which shares the servers that are the same for them.
type tenantHost struct {
	app       *app.App
	variables *Variables
	console   *Console
	adopted   func()                // called when the daemon has got variables from a client
	current   func() *config.Config // the config in force
	rest      *rest

	mu            sync.Mutex
	settings      Settings
	adopting      sync.WaitGroup
	servers       map[string]*mcp.Server // by profile; "" is that of the config
	tenants       map[string]*tenant
	conversations map[*daemon.Conversation]string // the keys of their tenants, or ""
}

// A tenant is a broker for some of the clients of a daemon. It ends with the last.
type tenant struct {
	config *config.Config // which its key is of
	root   *broker.Broker
	server *mcp.Server
	users  int
}

func newTenantHost(a *app.App, v *Variables, settings Settings, adopted func()) *tenantHost {
	return &tenantHost{
		app: a, variables: v, settings: settings, adopted: adopted, current: func() *config.Config { return a.Config },
		rest:    newRest(BrokerRestTime),
		servers: make(map[string]*mcp.Server), tenants: make(map[string]*tenant), conversations: make(map[*daemon.Conversation]string),
	}
}

// OpenConsole implements daemon.Opener.
func (h *tenantHost) OpenConsole(changes bool) (string, error) { return h.console.Open(changes) }

// Watched implements daemon.Opener.
func (h *tenantHost) Watched() bool { return api.Watched() }

// Report implements daemon.Reporter.
func (h *tenantHost) Report() json.RawMessage {
	return gate.Compact(h.app.Root.Upstream().Report())
}

// Accepts implements daemon.Host. It compares the client's settings with those of the
// daemon. What the config names and the daemon does not have, such as one that systemd has
// started, it takes from the client.
func (h *tenantHost) Accepts(hello daemon.Hello) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	why := h.settings.differ(hello)
	if why != "" {
		return why
	}
	names, _ := namedVariables(h.settings.Config())
	adopted := false
	for _, name := range names {
		value, ok := hello.Env[name]
		if ok && h.variables.adopt(name, value) {
			h.settings.Env[name] = value
			adopted = true
		}
	}
	if adopted {
		h.adopting.Go(h.adopted)
	}
	return ""
}

// A location determines the broker that serves a client.
type location struct {
	variables *Variables // of the daemon
	config    *config.Config
	profile   string
	dir       string // its working folder; empty if not a project
	project   *app.Project
	wrong     error             // why the project cannot be read
	env       map[string]string // the client's variables
	apart     map[string]bool   // the servers that it does not share
	scripts   bool              // scripts of skills find other programs than for the daemon
}

// locate returns the location of a client.
func (h *tenantHost) locate(hello daemon.Hello) location {
	at := location{
		variables: h.variables, config: h.current(), profile: hello.Settings[settingProfile], env: hello.Env,
		dir: app.ProjectFolder(cmp.Or(hello.Root, hello.Dir)), apart: make(map[string]bool),
	}
	at.project, at.wrong = app.OpenProject(app.ProjectPath(at.dir), h.app.State.Dir)
	at.config = at.project.Join(at.config)
	for _, s := range at.config.Servers {
		variables, _ := s.Reads()
		if s.File != "" || slices.ContainsFunc(variables, at.differs) || s.Command != "" && at.otherPath() {
			at.apart[s.Name] = true
		}
	}
	at.scripts = broker.ScriptMode(at.config.Broker.Skills.Scripts) == broker.ScriptsHost && at.otherPath()
	return at
}

// otherPath reports whether the client's PATH differs from the daemon's.
func (at *location) otherPath() bool {
	own, _ := at.variables.Lookup(pathVariable)
	path, ok := at.env[pathVariable] // bridges of older versions do not send it
	return ok && !samePath(own, path)
}

// differs reports whether a variable has another value for the client than for
// the daemon.
func (at *location) differs(name string) bool {
	own, has := at.variables.Lookup(name)
	value, ok := at.env[name]
	return ok != has || own != value
}

// lookup finds a variable as the client has it: those that the config or the
// project names come with it.
func (at *location) lookup(name string) (string, bool) {
	value, ok := at.env[name]
	return value, ok
}

// key returns the key of the client's tenant, or "" if it needs none.
func (h *tenantHost) key(at *location) string {
	if at.project == nil && at.wrong == nil && len(at.apart) == 0 && !at.scripts {
		return ""
	}
	p := at.project
	if p == nil {
		p = &app.Project{Project: &config.Project{}}
	}
	// The address of the config in force tells it from those before it, which tenants
	// still use.
	env := maps.Clone(at.env)
	delete(env, pathVariable) // compared by its folders instead
	key, err := json.Marshal([]any{
		fmt.Sprintf("%p", h.current()), at.profile, env, foldersOf(at.env[pathVariable]), p.Path, p.Profile, p.Narrow, p.Servers, p.Notes, p.Trusted, p.WasTrusted,
		fmt.Sprint(p.Ignored), fmt.Sprint(at.wrong),
	})
	if err != nil {
		return at.dir // texts and raw JSON that was read from JSON
	}
	return string(key)
}

// acquire returns the server of a client, and a function that releases it.
func (h *tenantHost) acquire(c *daemon.Conversation) (server *mcp.Server, dir string, release func(), err error) {
	at := h.locate(c.Hello)
	key := h.key(&at)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setFolder(at.dir)
	h.conversations[c] = key
	if key == "" {
		return h.serverFor(at.profile), at.dir, func() { h.forget(c) }, nil
	}
	t := h.tenants[key]
	if t == nil {
		if t, err = h.open(&at); err != nil {
			delete(h.conversations, c)
			return nil, "", nil, err
		}
		h.tenants[key] = t
	}
	t.users++
	return t.server, at.dir, func() { h.forget(c); h.release(key, t) }, nil
}

func (h *tenantHost) forget(c *daemon.Conversation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conversations, c)
}

// release closes a tenant after its last client.
func (h *tenantHost) release(key string, t *tenant) {
	h.mu.Lock()
	t.users--
	last := t.users == 0
	if last {
		delete(h.tenants, key)
	}
	h.mu.Unlock()
	if last {
		if err := t.root.Close(); err != nil {
			h.app.State.Logger.Error("close a project's broker", "err", err)
		}
	}
}

// open makes a tenant; h.mu is held.
func (h *tenantHost) open(at *location) (*tenant, error) {
	from := h.app.Options().Sources
	from.Env = at.lookup
	o := app.TenantOptions{Sources: from, Apart: func(server string) bool { return at.apart[server] }}
	if path, ok := at.env[pathVariable]; ok {
		o.Environ = withPath(h.app.Options().Environ, path)
	}
	root, err := h.app.OpenTenant(at.config, o)
	if err != nil {
		return nil, err
	}
	view, notice := root.View(at.profile), ""
	if at.wrong != nil {
		view = view.View("", policy.Profile{})
		notice = "nothing can be used here until the project's file is right: " + at.wrong.Error()
	} else {
		view, notice = at.project.View(view, at.config, at.profile), at.project.Notice(at.config)
	}
	if notice != "" {
		root.SetNotice(words.Line(notice, 500))
	}
	view.StartSoon(context.Background()) // which ends with it
	return &tenant{config: h.current(), root: root, server: view.Server("stdio")}, nil
}

// Converse implements daemon.Host.
func (h *tenantHost) Converse(ctx context.Context, c *daemon.Conversation) {
	server, dir, release, err := h.acquire(c)
	if err != nil {
		h.app.State.Logger.Error("serve a client", "dir", c.Hello.Dir, "err", err)
		return
	}
	defer release()
	_ = surface.ServeLines(ctx, server, surface.Peer{ID: c.ID, Dir: dir, Roots: func(folders []string) { h.relocate(c, folders[0]) }}, c, h.rest.writer(c))
}

// relocate lets a client connect anew when the folder of its roots is served by another
// broker.
func (h *tenantHost) relocate(c *daemon.Conversation, root string) {
	hello := c.Hello
	hello.Root = root
	at := h.locate(hello)
	key := h.key(&at)
	h.mu.Lock()
	was, here := h.conversations[c]
	elsewhere := here && key != was && root != c.Hello.Root
	if !elsewhere {
		h.setFolder(at.dir)
	}
	h.mu.Unlock()
	if elsewhere {
		_ = c.Move(root) // may wait for a client that does not read
	}
}

// setFolder sets the folder of servers that have to be started in some project to list
// their tools; h.mu is held.
func (h *tenantHost) setFolder(dir string) {
	if dir == "" {
		return
	}
	if before := h.app.Folder.Swap(&dir); *before == "" {
		h.adopting.Go(h.adopted)
	}
}

// watch lets clients connect anew, until ctx is done, after a change of their project
// or its trust, and those of tenants after a change of the config.
func (h *tenantHost) watch(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	asked := make(map[*daemon.Conversation]bool)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		h.mu.Lock()
		conversations := make(map[*daemon.Conversation]string, len(h.conversations))
		maps.Copy(conversations, h.conversations)
		h.mu.Unlock()
		maps.DeleteFunc(asked, func(c *daemon.Conversation, _ bool) bool { _, here := conversations[c]; return !here })
		for c, was := range conversations {
			if at := h.locate(c.Hello); !asked[c] && h.key(&at) != was {
				asked[c] = true
				go func() { _ = c.Move("") }() // a client that does not read lets it wait until it is gone
			}
		}
	}
}

// serverFor serves the clients of a profile that have no tenant; h.mu is held.
func (h *tenantHost) serverFor(profile string) *mcp.Server {
	server := h.servers[profile]
	if server == nil {
		b := h.app.Broker
		if profile != "" {
			b = h.app.Root.View(profile)
		}
		server = b.Server("stdio")
		h.servers[profile] = server
	}
	return server
}
