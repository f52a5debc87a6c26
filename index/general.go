package index

import (
	"math"
	"slices"
	"strings"
)

// How much general tools gain where nothing explains the query.
const (
	// generalWeight is the share of the highest possible score that a general tool gains
	// where no tool has any word of the query; the share falls to nothing where the best
	// tool has the share explained.
	generalWeight = 0.25
	explained     = 0.5
	// maxGeneral is how many general tools gain.
	maxGeneral = 4
	// bestSpecific is how many of the best other hits stay above them.
	bestSpecific = 3
	// maxAsked is the number of words of the longest query that is a question; a longer
	// one describes a task.
	maxAsked = 12
)

// A general tool answers questions of any kind: it searches the web or an encyclopedia,
// or reads a page. generalNames are parts of its name, and generalTexts of the first sentence
// of its description.
var (
	generalNames = []string{"search", "fetch", "scrape", "crawl", "browse", "navigate", "extract", "read", "get"}
	generalTexts = []string{"the web", "internet", "web search", "search engine", "url", "webpage", "web page", "website", "wikipedia", "encyclopedia", "duckduckgo", "google search", "bing"}
)

// general adds to the scores of general tools where words explain a question badly. They
// never come above the best other hits.
func (s *snapshot) general(sc *scratch, q parsed, server string) {
	if server != "" || len(q.wanted)+len(q.unmatched) == 0 {
		return
	}
	if !q.intent.asks {
		return
	}
	ceiling := s.ceiling(q)
	lack := 1 - sc.best/(explained*ceiling)
	if lack <= 0 || len(q.wanted)+len(q.unmatched) > maxAsked {
		return
	}
	is := s.generalTools()
	if len(is) == 0 {
		return
	}
	var best3 [bestSpecific]float64 // the lowest first
	var list []scored
	listed := 0
	for _, h := range sc.hits {
		if is[h.slot] {
			list = append(list, h)
			listed++
		} else if h.score > best3[0] {
			best3[0] = h.score
			slices.Sort(best3[:])
		}
	}
	if listed < len(is) && listed < maxGeneral {
		for slot := range is {
			if !slices.ContainsFunc(list, func(h scored) bool { return h.slot == slot }) {
				list = append(list, scored{slot: slot})
			}
		}
	}
	bonus, limit := generalWeight*lack*ceiling, math.Inf(1)
	if i := slices.IndexFunc(best3[:], func(b float64) bool { return b > 0 }); i >= 0 {
		limit = best3[i] * (1 - 1e-9)
	}
	for _, t := range s.top(list, min(len(list), maxGeneral)) {
		if t.score >= limit {
			continue
		}
		t.score, t.general = min(t.score+bonus, limit), true
		if i := slices.IndexFunc(sc.hits, func(h scored) bool { return h.slot == t.slot }); i >= 0 {
			sc.hits[i] = t
		} else {
			sc.hits = append(sc.hits, t)
		}
	}
}

// generalTools returns the slots of the tools that answer questions of any kind.
func (s *snapshot) generalTools() map[int32]bool {
	s.generalOnce.Do(func() {
		s.generals = map[int32]bool{}
		for slot, r := range s.records {
			if s.dead[slot] || r.kind() != "" {
				continue
			}
			name, _, description, _ := r.texts()
			if isGeneral(name, description) {
				s.generals[int32(slot)] = true
			}
		}
	})
	return s.generals
}

func isGeneral(name, description string) bool {
	name = strings.ToLower(name)
	if !slices.ContainsFunc(generalNames, func(n string) bool { return strings.Contains(name, n) }) {
		return false
	}
	first := strings.ToLower(firstSentence(description))
	return slices.ContainsFunc(generalTexts, func(t string) bool { return strings.Contains(first, t) })
}
