package skills

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Search returns the enabled skills with words of the query in their name or
// description, best first, at most limit. A word of the query matches words that begin
// with it.
func (s *Snapshot) Search(query string, limit int) []*Skill {
	words := searchWords(query)
	type hit struct {
		skill *Skill
		score int
	}
	var hits []hit
	for _, k := range s.all {
		if k.State != Enabled {
			continue
		}
		name, description := searchWords(k.Ref), searchWords(k.Description)
		h := hit{skill: k}
		for _, w := range words {
			switch {
			case slices.Contains(name, w):
				h.score += 8
			case hasPrefix(name, w):
				h.score += 5
			case slices.Contains(description, w):
				h.score += 3
			case hasPrefix(description, w):
				h.score++
			}
		}
		if h.score > 0 {
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var found []*Skill
	for _, h := range hits[:min(limit, len(hits))] {
		found = append(found, h.skill)
	}
	return found
}

func searchWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

func hasPrefix(words []string, prefix string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, prefix) })
}
