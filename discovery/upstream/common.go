package upstream

import (
	"cmp"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
)

// failedGrace bounds the wait for a server that has failed before when it is tried
// again.
const failedGrace = time.Second

// A common is what the servers of a pool share.
type common struct {
	*tasks
	opts       Options
	cache      cache.Dir
	installing *turns        // of servers that may be installing
	programs   link.Programs // Packages is nil without a PackageDir
	grace      time.Duration // failedGrace, or less in tests
	started    atomic.Bool   // servers are connected in the background
	learnt     atomic.Uint64 // how often tools have become known or changed
	changed    func()        // called when the state or the listing of a server changes

	personal sync.Mutex     // held while a personal process gets its slot; locked before instances.mu
	people   func() []crowd // the processes of people, by server
}

// newPrograms returns what runs the servers of a pool with the options o.
func newPrograms(o Options) link.Programs {
	p := link.Programs{Guard: launch.NewGuard(o.Guard, o.Logger)}
	if o.PackageDir == "" {
		p.Runners = packages.NewRunnerFolder("")
		return p
	}
	p.Packages = packages.Open(o.PackageDir, o.Logger)
	p.Runners = packages.NewRunnerFolder(filepath.Join(o.PackageDir, "runner"))
	return p
}

// lists reports whether the pool connects to servers to list them.
func (c *common) lists() bool { return c.opts.Lists == nil || c.opts.Lists() }

// mayBreak reports whether stopping the first start of a server may leave an incomplete
// package behind, which npx would never repair.
func (c *common) mayBreak(cfg Config) bool {
	r := launch.Runner(cfg.Command, cfg.Args)
	return (r == "npx" || r == "npm") && (c.programs.Packages == nil || !cfg.direct())
}

// newDialer returns what connects to a server.
func (c *common) newDialer(cfg Config, out link.Output) *link.Dialer {
	return &link.Dialer{
		Server: cfg.reached(&c.opts), Programs: c.programs, Output: out,
		Client: link.Client{Implementation: c.opts.Implementation, Capabilities: c.opts.Capabilities, Logger: c.opts.Logger},
	}
}

// usualProcesses is how many processes there are for people if Options do not say it.
const usualProcesses = 128

// A crowd is the processes of one server that run for people.
type crowd interface {
	holds(key string) bool
	size() int
	idleSince() (since time.Time, ok bool) // of the one that is unused for longest
	evict() bool                           // ends that one
}

// makeRoom ends the least recently used of people's unused processes, if there are too
// many to start another one, of the server with of for key. c.personal must be held.
func (c *common) makeRoom(of crowd, key string) error {
	total := 0
	var oldest crowd
	var at time.Time
	for _, one := range c.people() {
		if one == of && one.holds(key) {
			return nil
		}
		total += one.size()
		if since, ok := one.idleSince(); ok && (oldest == nil || since.Before(at)) {
			oldest, at = one, since
		}
	}
	most := cmp.Or(c.opts.PersonalProcesses, usualProcesses)
	if total < most {
		return nil
	}
	if oldest != nil && oldest.evict() {
		return nil
	}
	return fmt.Errorf("%d processes of people are in use, the most that \"personalProcesses\" in the config lets run", most)
}
