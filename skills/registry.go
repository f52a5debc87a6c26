package skills

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/text/unicode/norm"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// Options say where a Registry finds its skills. The zero value finds none but
// those that are registered.
type Options struct {
	// Roots returns the folders to look into, those of plugins among them, and
	// what is wrong with them. It is called at each look for changes; nil means
	// none.
	Roots func() ([]Root, []Problem)
	// Switches say what is switched off; nil means that nothing is.
	Switches Switchboard
	// Include and Exclude are patterns of names, or of origins, in the style of
	// path.Match. Without Include all are included; Exclude wins.
	Include, Exclude []string
	// Off says why no skills are wanted, such as that the config switches them
	// off: those of servers are left out then. Empty means that they are on.
	Off string
}

// A Registry knows the skills of many places. It may be used by several
// goroutines.
type Registry struct {
	o       Options
	mu      sync.Mutex // guards what follows, and makes one load at a time
	virtual []*Virtual
	sources []Source
	cache   map[string]*loaded
	sums    *sums
	roots   []Root
	watched []seen
	version string // of the switches
	stale   bool
	current atomic.Pointer[Snapshot]
}

// NewRegistry returns a registry that has not looked anywhere yet.
func NewRegistry(o *Options) *Registry {
	r := &Registry{stale: true, sums: &sums{}}
	if o != nil {
		r.o = *o
	}
	return r
}

// Register adds a skill that is defined in Go. Its rules are the strict ones;
// its name and the names of its tools have to be new.
func (r *Registry) Register(v Virtual) error {
	if err := v.check(); err != nil {
		return err
	}
	v.Tools = slices.Clone(v.Tools)
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.virtual, func(o *Virtual) bool { return o.Name == v.Name }) {
		return fmt.Errorf("virtual skill %s: there is one of this name already", quoted(v.Name))
	}
	r.virtual = append(r.virtual, &v)
	r.stale = true
	return nil
}

// SetSources replaces the servers that have skills. What their skills are called
// depends on them alone and on what this host has.
func (r *Registry) SetSources(list []Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	same := slices.EqualFunc(list, r.sources, func(a, b Source) bool {
		return a.Label == b.Label && slices.Equal(a.Problems, b.Problems) && slices.EqualFunc(a.Entries, b.Entries, func(x, y Entry) bool {
			return x.URI == y.URI && bytes.Equal(x.Frontmatter, y.Frontmatter) && bytes.Equal(x.Resources, y.Resources)
		})
	})
	if !same && r.o.Off == "" {
		r.sources, r.stale = slices.Clone(list), true
	}
}

// At asks a server for the skill at an address, for one that its list may not
// have. Whether it may be used is decided as for those that are listed.
func (r *Registry) At(ctx context.Context, label, uri string) (*Skill, error) {
	source, err := r.source(label)
	if err != nil {
		return nil, err
	}
	k, err := source.get(ctx, uri)
	if err != nil {
		return nil, err
	}
	return r.here(k, label+":"+uri)
}

// Described is a skill as a server has described it before, maybe to another broker.
func (r *Registry) Described(label, ref string, e Entry) (*Skill, error) {
	source, err := r.source(label)
	if err != nil {
		return nil, err
	}
	k, err := source.skill(e)
	if err != nil {
		return nil, err
	}
	return r.here(k, ref)
}

func (r *Registry) source(label string) (*Source, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.sources, func(s Source) bool { return s.Label == label })
	if i < 0 {
		return nil, &FileError{"skill_not_found", "no server " + quoted(label) + " has skills"}
	}
	source := r.sources[i]
	return &source, nil
}

// here is a skill of a server, if models may use it here.
func (r *Registry) here(k *Skill, ref string) (*Skill, error) {
	k.Ref = ref
	off, broken := r.switches()
	if r.decide(k, off, broken); !k.visible() {
		return nil, &FileError{"skill_not_found", "the skill " + quoted(k.Address()) + " of server " + quoted(k.Server) + " is not for models here"}
	}
	return k, nil
}

// Allows reports whether a skill that was found before is one that models may
// still use.
func (r *Registry) Allows(k *Skill) bool {
	if k.Scope == ScopeServer && r.o.Off != "" {
		return false
	}
	off, broken := r.switches()
	now := *k // others may be reading it
	r.decide(&now, off, broken)
	return now.visible()
}

// switches reads what is switched off.
func (r *Registry) switches() (Switches, error) {
	if r.o.Switches == nil {
		return Switches{}, nil
	}
	return ReadSwitches(r.o.Switches)
}

// switched is the version of the switches.
func (r *Registry) switched() string {
	if r.o.Switches == nil {
		return ""
	}
	return r.o.Switches.Version()
}

// Snapshot returns the skills as they were at the last look, without looking
// anew, unless there was none yet.
func (r *Registry) Snapshot() *Snapshot {
	if s := r.current.Load(); s != nil {
		return s
	}
	return r.Refresh()
}

// Refresh looks for changes and returns the skills as they are now: the same
// Snapshot as before if nothing has changed. To look costs some microseconds
// for each skill; only files that have changed are read.
func (r *Registry) Refresh() *Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	var roots []Root
	var problems []Problem
	if r.o.Roots != nil {
		roots, problems = r.o.Roots()
	}
	if s := r.current.Load(); s != nil && !r.stale && slices.Equal(roots, r.roots) && slices.Equal(problems, s.given) && r.unchanged() {
		return s
	}
	s := r.load(roots, problems)
	r.current.Store(s)
	return s
}

// RefreshFor is a cheaper Refresh for who goes on with one skill: as long as that
// is there as it was, and nothing was switched, it looks at nothing else.
func (r *Registry) RefreshFor(name string) *Snapshot {
	r.mu.Lock()
	s := r.current.Load()
	same := s != nil && !r.stale && r.switched() == r.version
	r.mu.Unlock()
	if same {
		if k, err := s.Find(name); err == nil && (k.virtual != nil || look(k.file.path) == k.file) {
			return s
		}
	}
	return r.Refresh()
}

func (r *Registry) unchanged() bool {
	if r.switched() != r.version {
		return false
	}
	for _, s := range r.watched {
		if look(s.path) != s {
			return false
		}
	}
	return true
}

func (r *Registry) load(roots []Root, problems []Problem) *Snapshot {
	w := newWalker(r.cache)
	w.problems = slices.Clone(problems)
	version := r.switched()
	off, broken := r.switches()
	if broken != nil {
		w.problem(r.o.Switches.String(), "bad_switches", "%s; until then every skill is off", broken)
	}
	for _, root := range roots {
		w.walk(root)
	}
	for _, v := range r.virtual {
		w.skills = append(w.skills, v.skill())
	}
	w.sources(r.sources)
	s := &Snapshot{byRef: map[string]*Skill{}, given: problems, off: r.o.Off}
	for _, k := range w.skills {
		r.decide(k, off, broken)
	}
	s.all = choose(w.skills, w.problem)
	for _, k := range s.all {
		k.sums = r.sums
		s.byRef[k.Ref] = k
		if k.visible() {
			s.shown = append(s.shown, k)
		}
	}
	s.Problems = w.problems
	r.sums.retain(s.all)
	r.cache, r.roots, r.watched, r.version, r.stale = w.next, roots, w.watched, version, false
	return s
}

// decide decides whether a skill is in use; broken means that the switches cannot be
// read.
func (r *Registry) decide(k *Skill, off Switches, broken error) {
	switch {
	case !included(k, r.o.Include, true) || included(k, r.o.Exclude, false):
		k.State = Excluded
	case broken != nil || !off.On(KindSkill, k.ID()):
		k.State = Disabled
	default:
		k.State = Enabled
	}
}

// included reports whether a pattern matches the skill, or returns otherwise if there
// is none.
func included(s *Skill, patterns []string, otherwise bool) bool {
	if len(patterns) == 0 {
		return otherwise
	}
	names := []string{s.Name, s.ID(), s.Ref, s.Origin()}
	if s.Scope == ScopeServer {
		names = append(names, s.longRef()) // which it may get
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			ok, _ := path.Match(p, name) // a wrong pattern matches nothing
			return ok
		})
	})
}

// A Snapshot is the skills at one moment. It is not changed.
type Snapshot struct {
	all, shown []*Skill
	byRef      map[string]*Skill
	given      []Problem // those that came with the roots
	off        string    // why there are none
	// Problems are what is wrong on the disk: skills that do not load, that are
	// shadowed by others, that are not trusted.
	Problems []Problem
}

// Filter returns the skills that keep accepts, without Problems.
func (s *Snapshot) Filter(keep func(*Skill) bool) *Snapshot {
	f := &Snapshot{byRef: make(map[string]*Skill), off: s.off}
	for _, k := range s.all {
		if keep(k) {
			f.all = append(f.all, k)
			f.byRef[k.Ref] = k
		}
	}
	for _, k := range s.shown {
		if keep(k) {
			f.shown = append(f.shown, k)
		}
	}
	return f
}

// Len is the number of skills that All returns.
func (s *Snapshot) Len() int { return len(s.all) }

// Contains reports whether there is a skill of that name, whatever its state.
func (s *Snapshot) Contains(name string) bool {
	_, err := s.Find(name)
	return err == nil
}

// All returns every skill that loads and is not shadowed, whatever its state,
// sorted by Ref; those that are defined in Go come last, in their order.
func (s *Snapshot) All() []*Skill { return slices.Clone(s.all) }

// Shown returns the skills that a model may know of, in the order of All.
func (s *Snapshot) Shown() []*Skill { return slices.Clone(s.shown) }

// Prompts returns the skills that a user may pick, in the order of All.
func (s *Snapshot) Prompts() []*Skill {
	return slices.DeleteFunc(s.All(), func(k *Skill) bool { return k.State != Enabled || !k.UserInvocable })
}

// Published returns the skills that may be served to others, in the order of
// All: those that a model may know of and that are valid.
func (s *Snapshot) Published() []*Skill {
	return slices.DeleteFunc(s.Shown(), func(k *Skill) bool { return !k.Valid })
}

// Find returns the skill of that name, whatever its state. An unknown name is a
// *FileError with the nearest ones.
func (s *Snapshot) Find(name string) (*Skill, error) { return s.find(name, s.all) }

// Get returns the skill of that name if a model may know of it; otherwise the
// error is that of an unknown name.
func (s *Snapshot) Get(name string) (*Skill, error) { return s.find(name, s.shown) }

func (s *Snapshot) find(name string, among []*Skill) (*Skill, error) {
	key := norm.NFKC.String(strings.TrimSpace(name))
	if k := s.byRef[key]; k != nil && slices.Contains(among, k) {
		return k, nil
	}
	// A plugin's skill may always be asked for with the name of the plugin.
	if i := slices.IndexFunc(among, func(k *Skill) bool { return k.ID() == key }); i >= 0 {
		return among[i], nil
	}
	if k := s.uniqueServed(key); k != nil && slices.Contains(among, k) {
		return k, nil
	}
	var known []string
	for _, k := range among {
		known = append(known, k.Ref)
	}
	text := "unknown skill " + quoted(name) + nearest.Hint(name, known, "there are", cmp.Or(s.off, "there are none"))
	return nil, &FileError{"skill_not_found", text}
}

// uniqueServed is the skill of a server that alone has a name. If any other skill has
// it, in use or not, a plain name never leads to a server.
func (s *Snapshot) uniqueServed(name string) *Skill {
	var found *Skill
	for _, k := range s.all {
		switch {
		case k.Name != name && k.Ref != name:
		case found != nil || k.Scope != ScopeServer:
			return nil
		default:
			found = k
		}
	}
	return found
}
