// Package pins compares what servers offer with what was approved, and holds back what is not
// approved: items that the scan blocks, and items that have changed.
package pins

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy/pin"
	"github.com/mcpbroker/mcpbroker/policy/scan"
	"github.com/mcpbroker/mcpbroker/state"
)

// A Mode defines what is held back.
type Mode string

// The modes.
const (
	On      Mode = "on"      // the first listing is approved unless the scan blocks it; so are harmless changes of words
	Careful Mode = "careful" // changes of words, and new items, also wait for a person
	Strict  Mode = "strict"  // everything waits for a person
	Off     Mode = "off"     // nothing is held
)

// The states of items.
const (
	Approved = "approved"
	New      = "new"     // added later, or never approved
	Changed  = "changed" // changed since its approval
	Gone     = "gone"
	Blocked  = "blocked" // by a person, or by the scan
)

// A Row is an item of a server, compared with its pin.
type Row struct {
	Server string `json:"server"`
	state.PinName
	State    string         `json:"state"`
	Held     bool           `json:"held"`
	Verdict  scan.Verdict   `json:"verdict"`
	Findings []scan.Finding `json:"findings,omitempty"`
	// Changes are the differences from the approved definition.
	Changes []pin.Difference `json:"changes,omitempty"`

	item   item
	pinned state.Pin // the pin that it was compared with
}

// Digest returns the digest of the current definition, or "" if it is gone or cannot be read.
func (r *Row) Digest() string { return r.item.digest }

// Title returns the name of the item within its server; items other than tools have their kind.
func (r *Row) Title() string { return title(r.PinName) }

func title(n state.PinName) string {
	switch {
	case n.Kind == state.PinTool:
		return n.Name
	case n.Name == "":
		return n.Kind
	}
	return n.Kind + ":" + n.Name
}

// Options are the settings of a Store.
type Options struct {
	Mode   Mode         // empty is On
	Logger *slog.Logger // nil discards
	// Changed is called once for all differences of a server that are found at one time, with a
	// text such as "send (inputSchema, held), old (gone)". It may be nil.
	Changed func(server, what string)
	// Verdicts is the path of a file with the servers that are unchanged since their approval. It
	// need not exist; an empty path disables it.
	Verdicts string
}

// A Store compares listings with stored pins. It is safe for concurrent use.
type Store struct {
	pins state.Pins
	o    Options

	mu       sync.Mutex
	seen     map[string]judged
	digests  map[string]digested // by server
	verdicts verdicts
}

// A judged is the result for a listing.
type judged struct {
	version          string
	listed, filtered discovery.Listing
}

// Open returns a store on pins.
func Open(kept state.Pins, o *Options) *Store {
	s := &Store{pins: kept, seen: map[string]judged{}, digests: map[string]digested{}}
	if o != nil {
		s.o = *o
	}
	s.verdicts.path = s.o.Verdicts
	if s.o.Mode == "" {
		s.o.Mode = On
	}
	if s.o.Logger == nil {
		s.o.Logger = slog.New(slog.DiscardHandler)
	}
	return s
}

// SetMode replaces the mode.
func (s *Store) SetMode(m Mode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.Mode = m
	clear(s.seen)
}

// Version returns a text that changes with the pins.
func (s *Store) Version() string { return s.pins.PinsVersion(context.Background(), "") }

// Filter returns listings without held items, which they name. The first listing of a server
// becomes its pins. A listing without transport belongs to an unknown server.
func (s *Store) Filter(list []discovery.Listing) []discovery.Listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Mode == Off {
		return list
	}
	ctx := context.Background()
	out := slices.Clone(list)
	v := &view{store: s, all: list}
	met := false
	for i, l := range list {
		if l.Transport == "" {
			continue
		}
		version := s.pins.PinsVersion(ctx, l.Server)
		if j, ok := s.seen[l.Server]; ok && j.version == version && same(&j.listed, &l) {
			out[i] = j.filtered
			continue
		}
		key := keyOf(&l, version, s.o.Mode)
		if s.verdicts.approved(l.Server, key) {
			s.seen[l.Server] = judged{version, l, l}
			continue
		}
		pins, err := s.pins.Pins(ctx, l.Server)
		if err != nil {
			s.o.Logger.Error("pins", "server", l.Server, "err", err)
			out[i] = holdAll(l)
			s.seen[l.Server] = judged{version, l, out[i]} // reported once
			continue
		}
		met = met || pins == nil
		rows := v.judge(&l, pins)
		if err := s.accept(ctx, &l, pins, rows); err != nil {
			s.o.Logger.Error("keep pins", "server", l.Server, "err", err)
		}
		out[i] = without(l, rows)
		after := s.pins.PinsVersion(ctx, l.Server)
		s.seen[l.Server] = judged{after, l, out[i]}
		if after != version || !allApproved(rows) {
			key = ""
		}
		s.verdicts.note(l.Server, key)
	}
	if met {
		s.review(ctx, v, out)
	}
	if err := s.verdicts.write(); err != nil {
		s.o.Logger.Warn("pins", "err", err)
	}
	return out
}

// allApproved reports whether every item is unchanged since its approval, or gone.
func allApproved(rows []Row) bool {
	return !slices.ContainsFunc(rows, func(r Row) bool { return r.State != Approved && r.State != Gone })
}

// same reports whether two listings have the same slices.
func same(a, b *discovery.Listing) bool {
	return sameSlice(a.Tools, b.Tools) && sameSlice(a.Prompts, b.Prompts) && sameSlice(a.Resources, b.Resources) && sameSlice(a.Skills, b.Skills) &&
		a.Instructions == b.Instructions && a.Description == b.Description && a.Origin == b.Origin
}

func sameSlice[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// review scans again what was approved without a person when a server was first listed: texts of
// older servers may mention its tools.
func (s *Store) review(ctx context.Context, v *view, out []discovery.Listing) {
	for i := range out {
		l := &v.all[i]
		pins, err := s.pins.Pins(ctx, l.Server)
		if err != nil || l.Transport == "" || len(v.all) < 2 {
			continue
		}
		var poison []state.PinName
		for _, it := range s.items(l) {
			p := pins[it.name]
			if it.name.Kind == state.PinTool && p.Digest == it.digest && !p.ByPerson && !p.Blocked && v.scan(l.Server, &it).Verdict == scan.Block {
				poison = append(poison, it.name)
			}
		}
		if len(poison) == 0 {
			continue
		}
		if err := s.pins.ChangePins(ctx, l.Server, func(pins map[state.PinName]state.Pin) error {
			for _, n := range poison {
				if !pins[n].ByPerson {
					pins[n] = state.Pin{At: time.Now().UTC(), Noted: pins[n].Digest}
				}
			}
			return nil
		}); err != nil {
			s.o.Logger.Error("keep pins", "server", l.Server, "err", err)
		}
		if pins, err = s.pins.Pins(ctx, l.Server); err == nil {
			out[i] = without(*l, v.judge(l, pins))
			s.seen[l.Server] = judged{s.pins.PinsVersion(ctx, l.Server), *l, out[i]}
		}
		s.report(l.Server, names(poison, "blocked, held"))
	}
}

func names(list []state.PinName, what string) []string {
	var out []string
	for _, n := range list {
		out = append(out, title(n)+" ("+what+")")
	}
	return out
}

func (s *Store) report(server string, what []string) {
	if len(what) == 0 {
		return
	}
	const most = 20
	slices.Sort(what)
	text := strings.Join(what[:min(len(what), most)], ", ")
	if len(what) > most {
		text += ", …"
	}
	s.o.Logger.Warn("not as approved", "server", server, "what", len(what))
	if s.o.Changed != nil {
		s.o.Changed(server, text)
	}
}

// holdAll holds all items back: pins that cannot be read approve nothing.
func holdAll(l discovery.Listing) discovery.Listing {
	var rows []Row
	for _, it := range items(&l, nil) {
		rows = append(rows, Row{PinName: it.name, State: "unreadable", Held: true})
	}
	return without(l, rows)
}

// without returns a listing without held items.
func without(l discovery.Listing, rows []Row) discovery.Listing {
	held := map[state.PinName]bool{}
	for _, r := range rows {
		if r.Held {
			held[r.PinName] = true
			l.Held = append(l.Held, discovery.Held{Kind: r.Kind, Name: r.Name, State: r.State})
		}
	}
	if len(held) == 0 {
		return l
	}
	if held[state.PinName{Kind: state.PinServer}] {
		for _, it := range items(&l, nil) {
			if !held[it.name] {
				l.Held = append(l.Held, discovery.Held{Kind: it.name.Kind, Name: it.name.Name, State: "changed"})
			}
		}
		l.Tools, l.Prompts, l.Resources, l.Skills, l.Instructions = nil, nil, nil, nil, ""
		return l
	}
	l.Tools = withoutHeld(l.Tools, func(t discovery.ListedTool) bool { return held[state.PinName{Kind: state.PinTool, Name: t.Name}] })
	l.Prompts = withoutHeld(l.Prompts, func(p discovery.ListedPrompt) bool { return held[state.PinName{Kind: state.PinPrompt, Name: p.Name}] })
	l.Resources = withoutHeld(l.Resources, func(r discovery.ListedResource) bool {
		return held[state.PinName{Kind: state.PinResource, Name: r.URI}]
	})
	l.Skills = withoutHeld(l.Skills, func(k discovery.ListedSkill) bool { return held[state.PinName{Kind: state.PinSkill, Name: k.URI}] })
	if held[state.PinName{Kind: state.PinInstructions}] {
		l.Instructions = ""
	}
	return l
}

func withoutHeld[T any](list []T, held func(T) bool) []T {
	if !slices.ContainsFunc(list, held) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), held)
}

// Rows compares the items of servers with their pins, including items that are gone.
func (s *Store) Rows(list []discovery.Listing) ([]Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &view{store: s, all: list}
	var rows []Row
	for i := range list {
		pins, err := s.pins.Pins(context.Background(), list[i].Server)
		if err != nil {
			return nil, err
		}
		rows = append(rows, v.judge(&list[i], pins)...)
	}
	return rows, nil
}

// Peek is like Filter, without pinning or reporting anything.
func (s *Store) Peek(list []discovery.Listing) []discovery.Listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Mode == Off {
		return list
	}
	out := slices.Clone(list)
	v := &view{store: s, all: list}
	for i, l := range list {
		if pins, err := s.pins.Pins(context.Background(), l.Server); err != nil {
			out[i] = holdAll(l)
		} else {
			out[i] = without(l, v.judge(&l, pins))
		}
	}
	return out
}

// accept pins the items that are not held, and reports new differences.
func (s *Store) accept(ctx context.Context, l *discovery.Listing, before map[state.PinName]state.Pin, rows []Row) error {
	changes := map[state.PinName]Row{}
	for _, r := range rows {
		if !r.Held && (r.State == New || r.State == Changed) || before != nil && r.State != Approved && r.pinned.Noted != r.noted() {
			changes[r.PinName] = r
		}
	}
	if len(changes) == 0 && before != nil {
		return nil
	}
	var told []string
	err := s.pins.ChangePins(ctx, l.Server, func(pins map[state.PinName]state.Pin) error {
		told = nil
		for n, r := range changes {
			p := pins[n]
			if p.Digest != r.pinned.Digest || p.Blocked != r.pinned.Blocked || !p.At.Equal(r.pinned.At) {
				continue // somebody has decided meanwhile
			}
			noted := p.Noted
			if !r.Held && r.State != Gone {
				p = pinOf(&r, false)
			}
			p.Noted = r.noted()
			pins[n] = p
			if r.known() && noted != p.Noted {
				told = append(told, r.Title()+" ("+r.describe()+")")
			}
		}
		return nil
	})
	if err == nil && before != nil {
		s.report(l.Server, told)
	}
	return err
}

// known reports whether an item of the kind was pinned before.
func (r *Row) known() bool { return r.item.known || r.State == Gone }

// noted returns the stored form of a reported difference.
func (r *Row) noted() string {
	if r.State == Gone {
		return Gone
	}
	return r.item.digest
}

// describe describes the difference in a few words.
func (r *Row) describe() string {
	parts := []string{}
	for _, d := range r.Changes {
		if r.Kind != state.PinTool {
			break // its fields differ from those of a tool
		}
		if part, _, _ := strings.Cut(d.Where, "."); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, r.State)
	}
	if r.Held {
		parts = append(parts, "held")
	}
	return strings.Join(parts, ", ")
}

func pinOf(r *Row, byPerson bool) state.Pin {
	return state.Pin{PinName: r.PinName, Definition: r.item.definition, Digest: r.item.digest, Verdict: r.Verdict.String(), ByPerson: byPerson, At: time.Now().UTC()}
}

// Approve pins the current definitions of rows of one server, and removes the pins of rows that
// are gone.
func (s *Store) Approve(rows []Row) error {
	return s.decide(rows, func(pins map[state.PinName]state.Pin, r *Row) {
		if r.State == Gone {
			delete(pins, r.PinName)
			return
		}
		p := pinOf(r, true)
		p.Noted = r.noted()
		pins[r.PinName] = p
	})
}

// Block holds back rows of one server until they are approved.
func (s *Store) Block(rows []Row) error {
	return s.decide(rows, func(pins map[state.PinName]state.Pin, r *Row) {
		p := pins[r.PinName]
		p.Blocked, p.ByPerson, p.At, p.Noted = true, true, time.Now().UTC(), r.noted()
		pins[r.PinName] = p
	})
}

func (s *Store) decide(rows []Row, f func(map[state.PinName]state.Pin, *Row)) error {
	of := map[string][]Row{}
	for _, r := range rows {
		of[r.Server] = append(of[r.Server], r)
	}
	for _, server := range slices.Sorted(maps.Keys(of)) {
		if err := s.pins.ChangePins(context.Background(), server, func(pins map[state.PinName]state.Pin) error {
			for i := range of[server] {
				f(pins, &of[server][i])
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
