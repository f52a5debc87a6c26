package index

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// A snapshot is what searches read: immutable but for what it remembers, and
// replaced as a whole.
type snapshot struct {
	records []record // by slot
	dead    []bool   // by slot: a part has it still, but it is gone or was changed
	live    int      // how many are not dead
	parts   []*part  // the first holds most

	stemsMu   sync.RWMutex
	stems     map[string]*word // those that were asked for; nil where nothing holds one
	found     map[string]*word // likewise, by word
	resolved  map[lookup]resolution
	spellings [256]atomic.Pointer[[]spelling]

	formsMu sync.Mutex
	formsOf map[string][]string // other forms of words that were looked up

	catalog *discovery.Catalog

	serversOnce sync.Once
	servers     map[string][]namedServer // by the first word of the name
	serverOf    []int32                  // by slot, the place of its server in the catalogue, or -1

	generalOnce sync.Once
	generals    map[int32]bool // the slots of general tools

	effectsOnce sync.Once
	effectOf    []effect // by slot, what the name of a tool says that it does
}

func newSnapshot(records []record, parts ...*part) *snapshot {
	return &snapshot{stems: map[string]*word{}, found: map[string]*word{}, formsOf: map[string][]string{}, resolved: map[lookup]resolution{}, records: records, dead: make([]bool, len(records)), live: len(records), parts: slices.DeleteFunc(parts, func(p *part) bool { return p == nil })}
}

func (s *snapshot) onDisk() bool {
	return slices.ContainsFunc(s.parts, func(p *part) bool { return p.file })
}

// A word is a stem and the documents that hold it.
type word struct {
	stem string
	docs []packed // unordered over parts
}

func (w *word) df() int { return len(w.docs) }

// A packed posting is one document of a word: its slot in the lower bits, and
// above them the place of the word in the document's name, from 1, and how many
// words that name has; both are 0 if the name does not hold the word.
// The weight is saturated.
type packed struct {
	at     uint32
	weight float32
}

const (
	slotBits  = 22
	slotMask  = 1<<slotBits - 1
	namedBits = 5
	maxNamed  = 1<<namedBits - 1 // words of a name that have a place of their own
)

func (p packed) slot() uint32  { return p.at & slotMask }
func (p packed) place() uint32 { return p.at >> slotBits & maxNamed }
func (p packed) named() uint32 { return p.at >> (slotBits + namedBits) }

// maxStems bounds what a snapshot remembers: queries may have any words.
const maxStems = 200_000

// A lookup is a word of a query, as resolve is asked for it.
type lookup struct{ word, written string }

// maxResolved bounds the words of queries whose resolution a snapshot remembers.
const maxResolved = 4096

// find returns the documents that hold a word in lower case, or nil.
func (s *snapshot) find(w string) *word {
	s.stemsMu.RLock()
	known, ok := s.found[w]
	s.stemsMu.RUnlock()
	if ok {
		return known
	}
	if !words().stop[w] {
		known = s.findStem(stem(w))
	}
	s.stemsMu.Lock()
	defer s.stemsMu.Unlock()
	if len(s.found) < maxStems {
		s.found[strings.Clone(w)] = known
	}
	return known
}

// findStem decodes the postings of bleve once.
func (s *snapshot) findStem(stem string) *word {
	s.stemsMu.RLock()
	w, ok := s.stems[stem]
	s.stemsMu.RUnlock()
	if ok {
		return w
	}
	w = &word{stem: strings.Clone(stem)}
	for _, p := range s.parts {
		w.docs = p.append(w.docs, w.stem, s.dead)
	}
	key := w.stem
	if w.docs = slices.Clip(w.docs); len(w.docs) == 0 {
		w = nil
	}
	s.stemsMu.Lock()
	defer s.stemsMu.Unlock()
	if len(s.stems) < maxStems {
		s.stems[key] = w
	}
	return w
}

// spelled lists the words that begin as word does.
func (s *snapshot) spelled(letter byte) []spelling {
	if l := s.spellings[letter].Load(); l != nil {
		return *l
	}
	var list []spelling
	for _, p := range s.parts {
		list = p.spellings(list, letter)
	}
	s.spellings[letter].Store(&list)
	return list
}

// How a document's words become its score: BM25F, then more for documents that
// hold more of the query and whose name the query covers.
const (
	saturation   = 1.0 // k1: how soon more of the same word stops to count
	coverage     = 0.5
	nameCoverage = 1.0
)

func saturated(weight float32) float32 {
	tf := float64(weight)
	return float32(tf * (saturation + 1) / (tf + saturation))
}

// A tally is what a search knows of one document so far.
type tally struct {
	sum   float32
	best  float32 // of the word that is being looked at
	named uint32  // which words of the name were found
	words uint8   // in the name, if any of them was found
	found uint8   // how many words of the query
}

type scored struct {
	slot    int32
	found   uint8 // words of the query
	general bool  // it gained as a general tool
	score   float64
}

// scratch is the memory of one search.
type scratch struct {
	tallies []tally  // by slot; all zero between searches
	touched []uint32 // slots that hold the word that is being looked at
	all     []uint32 // slots that hold any
	hits    []scored
	best    float64 // the highest score of the hits
}

func (x *Index) getScratch(slots int) *scratch {
	sc, ok := x.scratch.Get().(*scratch)
	if !ok {
		sc = &scratch{}
	}
	if len(sc.tallies) < slots {
		sc.tallies = make([]tally, slots)
	}
	sc.hits, sc.all = sc.hits[:0], sc.all[:0]
	return sc
}

// score fills the hits of sc with every document that answers any of the
// words, in no order.
func (s *snapshot) score(sc *scratch, parsed parsed, server string) {
	q := parsed.wanted
	tallies, all, touched := sc.tallies, sc.all, sc.touched
	for _, w := range q {
		touched = touched[:0]
		for _, v := range w.to {
			weight := float32(v.weight * w.idf)
			for _, p := range v.word.docs {
				t := &tallies[p.slot()]
				score := weight * p.weight
				if t.best == 0 {
					touched = append(touched, p.slot())
				}
				if score > t.best { // faster than max, which knows of NaN
					t.best = score
				}
				if p.at > slotMask && !v.related {
					t.named |= 1 << p.place()
					t.words = uint8(p.named())
				}
			}
		}
		for _, slot := range touched {
			t := &tallies[slot]
			if t.found == 0 {
				all = append(all, slot)
			}
			t.sum += t.best
			t.best = 0
			t.found++
		}
	}
	sc.all, sc.touched, sc.best = all, touched, 0
	covered := make([]float64, len(q)+1)
	for n := range covered {
		covered[n] = 1 + coverage*float64(n)/float64(len(q))
	}
	var does []effect
	if parsed.intent.onlyReads() {
		does = s.toolEffects()
	}
	for _, slot := range all {
		t := &tallies[slot]
		if server == "" || s.records[slot].server() == server {
			score := t.total(covered[t.found])
			if does != nil && does[slot] == changing {
				score *= changesWeight
			}
			if score > sc.best {
				sc.best = score
			}
			sc.hits = append(sc.hits, scored{slot: int32(slot), found: t.found, score: score})
		}
		*t = tally{}
	}
}

// total is the score of a document; covered is the factor for the words of the query
// that it has.
func (t *tally) total(covered float64) float64 {
	if t.named == 0 {
		return float64(t.sum) * covered
	}
	return float64(t.sum) * covered * (1 + nameCoverage*float64(bits.OnesCount32(t.named))/float64(max(1, t.words)))
}

// matches says what each word of a query adds to the score of one document, in
// the order of the query.
func (s *snapshot) matches(slot uint32, q []wanted) []Match {
	var list []Match
	for _, w := range q {
		var best Match
		for _, v := range w.to {
			for _, p := range v.word.docs {
				if score := v.weight * w.idf * float64(p.weight); p.slot() == slot && score > best.Score {
					best = Match{Word: w.surface, As: v.word.stem, Score: score, Named: p.at > slotMask && !v.related, Related: v.related}
				}
			}
		}
		if best.Score > 0 {
			list = append(list, best)
		}
	}
	return list
}

// rank returns the best limit of what was scored for a query of so many words,
// best first, equal scores by id.
func (s *snapshot) rank(hits []scored, limit, words int) []Hit {
	hits = s.top(hits, limit)
	out := make([]Hit, len(hits))
	for i, h := range hits {
		r := s.records[h.slot]
		out[i] = Hit{ID: r.id(), Kind: r.kind(), Score: h.score, Held: float64(h.found) / float64(words)}
	}
	return out
}

// before orders hits: the best first, equal scores by id.
func (s *snapshot) before(a, b scored) int {
	if a.score != b.score { // most often; the rest costs look-ups
		return cmp.Compare(b.score, a.score)
	}
	return s.records[a.slot].compare(s.records[b.slot])
}

// top sorts the first n of list to the front, the best first, and returns them.
func (s *snapshot) top(list []scored, n int) []scored {
	if n >= len(list) {
		slices.SortFunc(list, s.before)
		return list
	}
	best := list[:n]
	slices.SortFunc(best, s.before)
	for _, x := range list[n:] {
		if n == 0 || x.score < best[n-1].score || s.before(x, best[n-1]) >= 0 { // most often by the score
			continue
		}
		at, _ := slices.BinarySearchFunc(best, x, s.before)
		copy(best[at+1:], best[at:n-1])
		best[at] = x
	}
	return best
}
