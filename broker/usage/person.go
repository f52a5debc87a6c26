package usage

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	// maxPeople bounds the owners, maxSearches the searches of each, and maxTools the
	// tools of a search.
	maxPeople   = 1000
	maxSearches = 300
	maxTools    = 8
	// maxUses is how many uses of a tool after a search count, and refresh how often one
	// more is recorded.
	maxUses = 3
	refresh = 24 * time.Hour
	// similar is the least share of words that two searches have in common.
	similar = 0.6
)

// A person is what one owner has called after searches.
type person struct {
	searches []*search // the latest last
	byWord   map[string][]*search
}

// A search is a search with the tools that were called after it.
type search struct {
	words []string // sorted
	tools []use
}

type use struct {
	tool  string
	count int
	last  time.Time
}

func newPerson() *person { return &person{byWord: make(map[string][]*search)} }

// find returns the search for exactly these words, or nil.
func (p *person) find(words []string) *search {
	if len(words) == 0 {
		return nil
	}
	for _, s := range p.byWord[words[0]] {
		if slices.Equal(s.words, words) {
			return s
		}
	}
	return nil
}

// knows reports whether one more use of a tool after a search adds nothing.
func (p *person) knows(words []string, tool string, now time.Time) bool {
	s := p.find(words)
	if s == nil {
		return false
	}
	i := slices.IndexFunc(s.tools, func(u use) bool { return u.tool == tool })
	return i >= 0 && s.tools[i].count >= maxUses && now.Sub(s.tools[i].last) < refresh
}

// add adds one use of a tool after a search for words, which are sorted.
func (p *person) add(words []string, tool string, at time.Time) {
	if len(words) == 0 {
		return
	}
	s := p.find(words)
	if s == nil {
		if len(p.searches) >= maxSearches {
			p.forget(p.searches[0])
		}
		s = &search{words: words}
		for _, w := range words {
			p.byWord[w] = append(p.byWord[w], s)
		}
	} else {
		p.searches = slices.DeleteFunc(p.searches, func(other *search) bool { return other == s })
	}
	p.searches = append(p.searches, s)
	i := slices.IndexFunc(s.tools, func(u use) bool { return u.tool == tool })
	if i < 0 {
		if len(s.tools) >= maxTools {
			s.tools = s.tools[1:]
		}
		i = len(s.tools)
		s.tools = append(s.tools, use{tool: tool})
	}
	s.tools[i].count++
	s.tools[i].last = at
}

// forget removes a search.
func (p *person) forget(s *search) {
	p.searches = slices.DeleteFunc(p.searches, func(other *search) bool { return other == s })
	for _, w := range s.words {
		p.byWord[w] = slices.DeleteFunc(p.byWord[w], func(other *search) bool { return other == s })
		if len(p.byWord[w]) == 0 {
			delete(p.byWord, w)
		}
	}
}

// favor returns the tools of the searches that are similar to one for words.
func (p *person) favor(words []string) map[string]float64 {
	if p == nil {
		return nil
	}
	// What is similar has one of the rarest words.
	rarest := slices.Clone(words)
	slices.SortFunc(rarest, func(a, b string) int { return cmp.Compare(len(p.byWord[a]), len(p.byWord[b])) })
	rarest = rarest[:len(words)-int(math.Ceil(similar*float64(len(words))))+1]
	var favored map[string]float64
	for _, w := range rarest {
		for _, s := range p.byWord[w] {
			share := float64(common(words, s.words)) / float64(max(len(words), len(s.words)))
			if share < similar {
				continue
			}
			for _, u := range s.tools {
				if favored == nil {
					favored = make(map[string]float64)
				}
				favored[u.tool] = max(favored[u.tool], share*float64(1+min(u.count, maxUses))/(1+maxUses))
			}
		}
	}
	return favored
}

// common returns how many words two sorted lists have in common.
func common(a, b []string) (n int) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch c := strings.Compare(a[i], b[j]); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			n, i, j = n+1, i+1, j+1
		}
	}
	return n
}

const (
	// maxRecent is how many searches of a conversation calls may follow, within recently.
	maxRecent = 4
	recently  = 15 * time.Minute
	// maxConversations bounds the conversations with recent searches.
	maxConversations = 1000
)

// recents are the recent searches of conversations, the latest last.
type recents map[Who][]recent

type recent struct {
	words, tools []string
	at           time.Time
}

// add adds a search.
func (r recents) add(m message) {
	now := time.Now()
	if len(r) >= maxConversations && r[m.who] == nil {
		for who, list := range r {
			if len(r) >= maxConversations/2 || now.Sub(list[len(list)-1].at) > recently {
				delete(r, who)
			}
		}
	}
	list := append(r[m.who], recent{m.words, m.tools, now})
	r[m.who] = list[max(0, len(list)-maxRecent):]
}

// before returns the words of the last search of a conversation that a tool matched, or
// nil.
func (r recents) before(who Who, tool string) []string {
	for _, one := range slices.Backward(r[who]) {
		if time.Since(one.at) < recently && slices.Contains(one.tools, tool) {
			return one.words
		}
	}
	return nil
}
