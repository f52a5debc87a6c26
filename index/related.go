package index

import (
	_ "embed"
	"slices"
	"sync"

	"github.com/mcpbroker/mcpbroker/internal/related"
)

//go:embed related.bin
var relatedFile string

// relatedWords is the table of related words that ships with the program. It is read
// where it lies: opening it costs nothing.
var relatedWords = sync.OnceValue(func() *related.Table {
	t, err := related.Read(relatedFile)
	if err != nil {
		panic("index: related.bin: " + err.Error()) // a test reads the file
	}
	return t
})

const (
	// relatedWeight is how much a tool that has a related word counts against one that
	// has what was asked for.
	relatedWeight = 0.15
	// leastRelated is how close two words must be.
	leastRelated = 0.45
	// relatedShare is the largest share of the tools that may have a related word: one
	// that more have tells little, and costs most.
	relatedShare = 0.05
	// relatedTools is a number of tools that is never too many.
	relatedTools = 8
)

// related adds the words of tools that are related to a stem to r, and returns the
// closest of them.
func (s *snapshot) related(r *resolution, stem string) (best []string) {
	most := max(relatedTools, relatedShare*float64(s.live))
	for w := range relatedWords().Of(stem) {
		if w.Weight < leastRelated {
			break
		}
		found := s.findStem(w.Stem)
		if found == nil || float64(found.df()) > most || slices.ContainsFunc(r.to, func(v variant) bool { return v.word == found }) {
			continue
		}
		r.to = append(r.to, variant{word: found, weight: relatedWeight * w.Weight, related: true})
		if len(best) < maxSynonyms {
			best = append(best, w.Word)
		}
	}
	return best
}
