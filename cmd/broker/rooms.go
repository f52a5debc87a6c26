package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
	"github.com/mcpbroker/mcpbroker/policy"
)

// A daemonHost serves the clients of a daemon. Most share one broker; those in a
// project, and those that have other values of the variables that servers read,
// have one in a room, which shares the servers that are the same for them.
type daemonHost struct {
	a       *app
	session *App
	console consoleHost
	adopted func()                // called when the daemon has got variables from a client
	current func() *config.Config // the config in force
	rest    *time.Timer           // gives memory back

	mu       sync.Mutex
	settings daemonSettings
	adopting sync.WaitGroup
	servers  map[string]*mcp.Server // by profile; "" is that of the config
	rooms    map[string]*room
	talks    map[*daemon.Conversation]string // the rooms that they are in, or ""
}

// A room is a broker for some of the clients of a daemon. It ends with the last.
type room struct {
	config *config.Config // which its key is of
	root   *broker.Broker
	server *mcp.Server
	users  int
}

func newDaemonHost(a *app, s *App, settings daemonSettings, adopted func()) *daemonHost {
	return &daemonHost{
		a: a, session: s, settings: settings, adopted: adopted, current: func() *config.Config { return s.Config },
		rest:    time.AfterFunc(daemonRestTime, debug.FreeOSMemory),
		servers: make(map[string]*mcp.Server), rooms: make(map[string]*room), talks: make(map[*daemon.Conversation]string),
	}
}

// Accepts compares the client's settings with those of the daemon. What the
// config names and the daemon does not have, such as one that systemd has
// started, it takes from the client.
func (h *daemonHost) Accepts(hello daemon.Hello) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	why := h.settings.differ(hello)
	if why != "" {
		return why
	}
	names, _ := namedVariables(h.settings.flags["config"])
	adopted := false
	for _, name := range names {
		value, ok := hello.Env[name]
		if ok && h.a.variables.adopt(name, value) {
			h.settings.env[name] = value
			adopted = true
		}
	}
	if adopted {
		h.adopting.Go(h.adopted)
	}
	return ""
}

// A clientPlace determines the broker that serves a client.
type clientPlace struct {
	own     *variables // of the daemon
	config  *config.Config
	profile string
	dir     string // its working folder; empty if not a project
	project *application.Project
	wrong   error             // why the project cannot be read
	env     map[string]string // the client's variables
	apart   map[string]bool   // the servers that it does not share
	scripts bool              // scripts of skills find other programs than for the daemon
}

// locate says where a client is.
func (h *daemonHost) locate(hello daemon.Hello) clientPlace {
	at := clientPlace{
		own: &h.a.variables, config: h.current(), profile: hello.Settings[settingProfile], env: hello.Env,
		dir: application.ProjectFolder(cmp.Or(hello.Root, hello.Dir)), apart: make(map[string]bool),
	}
	at.project, at.wrong = application.OpenProject(application.ProjectPath(at.dir), h.session.Dir)
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
func (at *clientPlace) otherPath() bool {
	own, _ := at.own.lookup(pathVariable)
	path, ok := at.env[pathVariable] // bridges of older versions do not send it
	return ok && !samePath(own, path)
}

// differs reports whether a variable has another value for the client than for
// the daemon.
func (at *clientPlace) differs(name string) bool {
	own, has := at.own.lookup(name)
	value, ok := at.env[name]
	return ok != has || own != value
}

// lookup finds a variable as the client has it: those that the config or the
// project names come with it.
func (at *clientPlace) lookup(name string) (string, bool) {
	value, ok := at.env[name]
	return value, ok
}

// key is that of the client's room; "" if it needs none.
func (h *daemonHost) key(at *clientPlace) string {
	if at.project == nil && at.wrong == nil && len(at.apart) == 0 && !at.scripts {
		return ""
	}
	p := at.project
	if p == nil {
		p = &application.Project{Project: &config.Project{}}
	}
	// The address of the config in force tells it from those before it, which rooms
	// keep.
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

// enter returns what serves a client, and what ends that.
func (h *daemonHost) enter(c *daemon.Conversation) (server *mcp.Server, dir string, leave func(), err error) {
	at := h.locate(c.Hello)
	key := h.key(&at)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.work(at.dir)
	h.talks[c] = key
	if key == "" {
		return h.serverFor(at.profile), at.dir, func() { h.forget(c) }, nil
	}
	r := h.rooms[key]
	if r == nil {
		if r, err = h.open(&at); err != nil {
			delete(h.talks, c)
			return nil, "", nil, err
		}
		h.rooms[key] = r
	}
	r.users++
	return r.server, at.dir, func() {
		h.forget(c)
		h.mu.Lock()
		r.users--
		last := r.users == 0
		if last {
			delete(h.rooms, key)
		}
		h.mu.Unlock()
		if last {
			if err := r.root.Close(); err != nil {
				h.a.logger().Error("close a project's broker", "err", err)
			}
		}
	}, nil
}

func (h *daemonHost) forget(c *daemon.Conversation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.talks, c)
}

// open makes a room; h.mu is held.
func (h *daemonHost) open(at *clientPlace) (*room, error) {
	from := sources()
	from.Env = at.lookup
	d := h.session.deps(at.config, from)
	if path, ok := at.env[pathVariable]; ok {
		d.Environ = environWith(path)
	}
	d.Base, d.Warn = h.session.Root, nil
	d.Apart = func(c upstream.Config) bool { return at.apart[c.Name] }
	note := application.NoteChanges(h.session.Audit)
	d.Pins = h.session.State.PinStore(at.config, h.a.overrides(), func(server, what string) {
		if at.apart[server] { // the others are noted already
			note(server, what)
		}
	})
	root, err := broker.New(d, h.a.overrides().Settings(h.session.Home(at.config), h.a.logger()))
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
		root.SetNotice(cli.OneLine(notice, 500))
	}
	view.StartSoon(context.Background()) // which ends with it
	return &room{config: h.current(), root: root, server: view.Server("stdio")}, nil
}

func (h *daemonHost) Converse(ctx context.Context, c *daemon.Conversation) {
	server, dir, leave, err := h.enter(c)
	if err != nil {
		h.a.logger().Error("serve a client", "dir", c.Hello.Dir, "err", err)
		return
	}
	defer leave()
	_ = surface.ServeLines(ctx, server, surface.Peer{ID: c.ID, Dir: dir, Roots: func(folders []string) { h.moves(c, folders[0]) }}, c,
		&resting{out: c, rest: h.rest, after: daemonRestTime})
}

// moves lets a client connect anew when the folder that its roots say is served by
// another broker.
func (h *daemonHost) moves(c *daemon.Conversation, root string) {
	hello := c.Hello
	hello.Root = root
	at := h.locate(hello)
	key := h.key(&at)
	h.mu.Lock()
	was, here := h.talks[c]
	elsewhere := here && key != was && root != c.Hello.Root
	if !elsewhere {
		h.work(at.dir)
	}
	h.mu.Unlock()
	if elsewhere {
		_ = c.Move(root) // may wait for a client that does not read
	}
}

// work makes a folder that of servers that have to be started in some project to
// list their tools; h.mu is held.
func (h *daemonHost) work(dir string) {
	if dir == "" {
		return
	}
	if before := h.session.Folder.Swap(&dir); *before == "" {
		h.adopting.Go(h.adopted)
	}
}

// watch lets clients connect anew, until ctx is done, after a change of their project
// or its trust, and those in rooms after a change of the config.
func (h *daemonHost) watch(ctx context.Context, every time.Duration) {
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
		talks := make(map[*daemon.Conversation]string, len(h.talks))
		maps.Copy(talks, h.talks)
		h.mu.Unlock()
		maps.DeleteFunc(asked, func(c *daemon.Conversation, _ bool) bool { _, here := talks[c]; return !here })
		for c, was := range talks {
			if at := h.locate(c.Hello); !asked[c] && h.key(&at) != was {
				asked[c] = true
				go func() { _ = c.Move("") }() // a client that does not read lets it wait until it is gone
			}
		}
	}
}

// serverFor serves the clients of a profile that are in no room; h.mu is held.
func (h *daemonHost) serverFor(profile string) *mcp.Server {
	server := h.servers[profile]
	if server == nil {
		b := h.session.Broker
		if profile != "" {
			b = h.session.Root.View(profile)
		}
		server = b.Server("stdio")
		h.servers[profile] = server
	}
	return server
}

// clientEnv are the variables that go with a client to the daemon: those that the
// config names, and those that a project reads which the user trusts.
func (a *app) clientEnv(named map[string]string, dir, state string) (map[string]string, error) {
	p, err := application.OpenProject(application.ProjectPath(application.ProjectFolder(dir)), state)
	if err != nil || p == nil || !p.Trusted {
		return named, err
	}
	env := make(map[string]string)
	maps.Copy(env, named)
	for _, s := range p.Enabled() {
		variables, _ := s.Reads()
		for _, name := range variables {
			if value, ok := lookupVariable(name); ok {
				env[name] = value
			}
		}
	}
	return env, nil
}
