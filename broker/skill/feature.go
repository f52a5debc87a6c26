// Package skill is skills as a feature of the broker: models find and activate
// them, read their files, call their tools and follow their workflows, users pick
// them as prompts, scripts import them, and other hosts read them over MCP.
//
// It registers all that with packages surface, find and run. What a skill is, and
// whether it is one, is package skills'.
package skill

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/find"
	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/fair"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
	"github.com/mcpbroker/mcpbroker/state"
)

// Options are the settings of a Feature. Zero means what broker.Settings says of
// the fields of the same names.
type Options struct {
	// Registry has the skills, to which those are added that servers serve; nil
	// means none at all.
	Registry *skills.Registry
	// Commands are prompts of plugins that users may pick.
	Commands []plugin.Command
	// Budget is how many tokens the catalogue of skills may cost.
	Budget int
	// Dir is the folder in which programs in containers find the files of skills.
	Dir string
	// Python says that scripts in Python run here, which find them there.
	Python bool
	// Audit keeps the record; nil keeps none.
	Audit state.Journal
	// Mode selects the tools that descriptions refer to.
	Mode surface.Mode
	// ReadOnly runs no scripts on this host.
	ReadOnly bool

	Scripts       Scripts
	ScriptSandbox sandbox.Commander
	MemoryBytes   int64 // of a script in the sandbox

	Workflows state.Documents // the sessions of workflows; nil keeps them in memory
	Documents func(kind string) state.Documents
	// Room separates the sessions and activations of a view from those of others.
	Room         string
	DisableForms bool
	Host         workflow.Host
}

// Hits are what search finds beside tools.
type Hits interface {
	// Set replaces what a source brings.
	Set(source string, list []find.Entry)
}

// A Feature is safe for concurrent use.
type Feature struct {
	models    // what models call
	users     // what users pick and call
	advice    // what is said of a skill besides its text
	known     // which skills there are
	record    // what was done with them
	publisher // what it serves to other hosts
	scripting // what scripts see of it

	opts    atomic.Pointer[Options]
	log     *slog.Logger
	catalog *catalog.Catalog
	runs    *run.Executor
	hits    Hits
	changed func()
	parent  *Feature // see Parts; may be nil

	base     *skills.Snapshot                // what shown was made of; guarded by looking
	shown    atomic.Pointer[skills.Snapshot] // what clients see
	cache    *skills.Cache                   // of files of servers
	texts    *Texts
	sessions sessions
	swept    atomic.Int64 // when activations were; see sweepActivations

	looking    sync.Mutex // from Refresh until shown is its answer, so that no older one follows
	taking     sync.Mutex // from asking the pool until the registry knows, for the same
	background sync.WaitGroup

	engines engines
	slots   *fair.Slots // for scripts; see enterScript
}

// Parts are what a Feature works with.
type Parts struct {
	Catalog *catalog.Catalog
	Runs    *run.Executor
	Hits    Hits
	// Changed is called when the skills are others than before.
	Changed func()
	// CacheDir keeps files of skills that servers serve; "" keeps them in memory.
	CacheDir string
	// IndexDir keeps the index of what files say, see index.Options.
	IndexDir string
	Logger   *slog.Logger
	// Of is the Feature of all tools, if Catalog is a view. It has the same Registry,
	// of which the view has what is not of other servers.
	Of *Feature
}

// New returns a Feature, which knows the skills of o and those that the servers
// were known to serve.
func New(o Options, p Parts) *Feature {
	places := sandbox.DefaultExecutions()
	f := &Feature{
		log: p.Logger, catalog: p.Catalog, runs: p.Runs, hits: p.Hits, changed: p.Changed,
		cache: skills.NewCache(p.CacheDir), texts: NewTexts(p.IndexDir, p.Logger), slots: fair.New(places, fair.More(places), 0),
	}
	if p.Of != nil {
		f.parent, f.cache, f.slots = p.Of, p.Of.cache, p.Of.slots
	}
	f.models.f, f.users.f, f.advice.f, f.known.f, f.record.f, f.publisher.f, f.scripting.f = f, f, f, f, f, f, f
	f.Configure(o)
	return f
}

// Configure replaces the settings.
func (f *Feature) Configure(o Options) {
	f.opts.Store(&o)
	f.looking.Lock()
	f.base = nil // a view may be another one
	f.looking.Unlock()
	f.Renew()
}

// Close stops what goes on in the background.
func (f *Feature) Close() error {
	f.background.Wait()
	return f.texts.Close()
}

// A known is a Feature that knows which skills there are, as clients see them.
type known struct{ f *Feature }

// now are the skills that clients see.
func (w known) now() *skills.Snapshot { return w.f.shown.Load() }

// noSkills is what a broker without a registry knows.
var noSkills = sync.OnceValue(func() *skills.Snapshot { return skills.NewRegistry(nil).Snapshot() })

// Renew asks the servers' lists and the folders for skills, and reports whether
// they are others than before.
func (w known) Renew() bool {
	w.f.take()
	return w.f.look()
}

// look looks for changes of the skills and reports whether there are any.
func (w known) look() bool {
	if !w.f.swap() {
		return false
	}
	w.f.updateHits()
	return true
}

// swap shows the skills as they are now and reports whether they are
// others than before.
func (w known) swap() bool {
	w.f.looking.Lock()
	defer w.f.looking.Unlock()
	next := noSkills()
	if r := w.f.opts.Load().Registry; r != nil {
		next = r.Refresh()
	}
	if w.f.base == next {
		return false
	}
	w.f.base = next
	if w.f.parent != nil {
		next = next.Filter(func(k *skills.Skill) bool { return k.Scope != skills.ScopeServer || w.f.catalog.Has(k.Server) })
	}
	return w.f.shown.Swap(next) != next
}

// Refresh looks for changes of the skills and shows them to the clients.
// Without a change it costs a few microseconds for each skill.
func (w known) Refresh() {
	if w.f.look() {
		w.f.changed()
	}
}

// refreshFor is Refresh for who goes on with one skill: as long as that
// is there as it was, the others are not looked at.
func (w known) refreshFor(name string) {
	if reg := w.f.opts.Load().Registry; reg == nil || reg.RefreshFor(name) != w.f.seen() {
		w.f.Refresh()
	}
}

// seen are the skills of the registry that what clients see was made of.
func (f *Feature) seen() *skills.Snapshot {
	f.looking.Lock()
	defer f.looking.Unlock()
	return f.base
}

// find is the skill that a reader names: one that models may know of, or
// one that its user has picked.
func (w known) find(r reader, name string) (*skills.Skill, error) {
	if err := checkSkillName("skill", name); err != nil {
		return nil, err
	}
	s := w.f.now()
	k, err := s.Get(name)
	if err == nil && k.Scope != skills.ScopeServer {
		return k, nil
	}
	w.f.recall(r)
	if err == nil {
		return w.f.sessions.asActivated(r, k), nil
	}
	if k := w.f.sessions.activatedAt(r, name); k != nil && w.f.configured(k.Server) && w.f.allows(k) {
		return k, nil
	}
	if k, e := s.Find(name); e == nil && k.State == skills.Enabled {
		if slices.Contains(w.f.sessions.session(r).Active(), k.Ref) {
			return w.f.sessions.asActivated(r, k), nil
		}
	}
	return nil, err
}

// checkSkillName refuses a name that no skill, or tool of one, has before anybody
// looks for it.
func checkSkillName(what, name string) error {
	if len(name) <= sandbox.MaxNameBytes {
		return nil
	}
	return &skills.FileError{Code: what + "_not_found", Message: fmt.Sprintf("unknown %s: its name has %d bytes; at most %d, which is fixed", what, len(name), sandbox.MaxNameBytes)}
}

// allows reports whether models may still use a skill that was activated.
func (w known) allows(k *skills.Skill) bool {
	reg := w.f.opts.Load().Registry
	return reg != nil && reg.Allows(k)
}

// skillFailure is an error about a skill in words for a model, after its code.
func skillFailure(err error) error {
	if e, ok := errors.AsType[*skills.FileError](err); ok {
		return errors.New(e.Code + ": " + e.Message)
	}
	return err
}

// A record is a Feature that keeps what was done with skills.
type record struct{ f *Feature }

// note records what was done with a skill, or with failure tried. The
// detail is a name or a size, not contents.
func (r record) note(kind string, k *skills.Skill, client, detail string, failure error) {
	store := r.f.opts.Load().Audit
	if store == nil {
		return
	}
	if failure != nil {
		detail = strings.TrimSpace(detail + " failed: " + skillFailure(failure).Error())
	}
	store.Note(state.Event{
		Kind: kind, Name: k.Ref, Client: cmp.Or(client, "unknown"), Digest: k.Digest(), Failed: failure != nil,
		Detail: gate.Cut(strings.TrimSpace(k.Origin()+" "+detail), 500),
	})
}

// noteRead records that a file was read, or why not.
func (r record) noteRead(k *skills.Skill, client, path string, bytes int, failure error) {
	detail := gate.Cut(path, 200)
	if failure == nil {
		detail += fmt.Sprintf(", %d bytes", bytes)
	}
	r.f.note(state.EventSkillFileRead, k, client, detail, failure)
}

// readWhole reads a text file of a skill up to limit bytes; a longer one is an
// error.
func readWhole(k *skills.Skill, path string, limit int64) (string, error) {
	var text strings.Builder
	for {
		p, err := k.ReadFile(path, int64(text.Len()), skills.MaxReadBytes)
		if err != nil {
			return "", err
		}
		if p.TotalBytes > limit {
			return "", &skills.FileError{Code: "too_large", Message: "the file is too large to be read as a whole: read_skill_file reads it in pages"}
		}
		text.WriteString(p.Text)
		if !p.Truncated || p.Text == "" {
			return text.String(), nil
		}
	}
}
