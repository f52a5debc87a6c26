package index

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/internal/wordstem"
)

//go:embed words.txt
var wordsFile string

// How much a tool that says a related word counts against one that says what
// was asked for.
const (
	sameWeight = 0.45
	likeWeight = 0.25
	fromWeight = 0.35
)

// A synonym is a synonym of a word, as a stem and as words.txt spells it.
type synonym struct {
	stem, word string
	weight     float64
}

// A lexicon is what is known of words before any tool is: see words.txt.
type lexicon struct {
	stop      map[string]bool      // by word
	synonyms  map[string][]synonym // by stem; strongest first, then by name
	compounds map[[2]string]bool   // pairs of words that are also written as one
	stems     map[string]string    // of the words that have synonyms
}

// words is the lexicon that ships with the program.
var words = sync.OnceValue(func() *lexicon {
	l, err := parseLexicon(wordsFile)
	if err != nil {
		panic("index: words.txt: " + err.Error()) // a test reads the file
	}
	return l
})

// parseLexicon reads the format that the head of words.txt explains.
func parseLexicon(text string) (*lexicon, error) {
	l := &lexicon{stop: map[string]bool{}, synonyms: map[string][]synonym{}, compounds: map[[2]string]bool{}, stems: map[string]string{}}
	weights := map[string]map[string]float64{}
	written := map[string]string{} // by stem
	relate := func(from, to string, weight float64) {
		word := to
		from, to = l.stem(from), l.stem(to)
		if from == to {
			return
		}
		if written[to] == "" {
			written[to] = word
		}
		if weights[from] == nil {
			weights[from] = map[string]float64{}
		}
		weights[from][to] = max(weights[from][to], weight)
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		rule, rest, _ := strings.Cut(line, ":")
		if err := l.rule(strings.TrimSpace(rule), rest, relate); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	for from, to := range weights {
		for s, w := range to {
			l.synonyms[from] = append(l.synonyms[from], synonym{s, written[s], w})
		}
		slices.SortFunc(l.synonyms[from], func(a, b synonym) int {
			return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.stem, b.stem))
		})
	}
	return l, nil
}

func (l *lexicon) rule(name, rest string, relate func(from, to string, weight float64)) error {
	all := strings.Fields(rest)
	switch name {
	case "same", "like":
		weight := sameWeight
		if name == "like" {
			weight = likeWeight
		}
		if len(all) < 2 {
			return fmt.Errorf("%q needs two words", name)
		}
		for _, a := range all {
			for _, b := range all {
				relate(a, b, weight)
			}
		}
	case "from":
		from, to, ok := strings.Cut(rest, ">")
		if !ok || len(strings.Fields(from)) != 1 || len(strings.Fields(to)) == 0 {
			return fmt.Errorf(`"from" needs one word, ">" and what it may mean`)
		}
		for b := range strings.FieldsSeq(to) {
			relate(strings.TrimSpace(from), b, fromWeight)
		}
	case "join":
		if len(all) != 2 {
			return fmt.Errorf(`"join" needs two words`)
		}
		l.compounds[[2]string{all[0], all[1]}] = true
	case "stop":
		for _, w := range all {
			for part := range strings.SplitSeq(w, "'") {
				l.stop[part] = true
			}
		}
	default:
		return fmt.Errorf("unknown rule %q", name)
	}
	return nil
}

// stem returns the part that a word shares with its other forms in English. Words of
// other alphabets are returned unchanged: see forms.
func stem(word string) string { return wordstem.Of(word) }

// stem is the package function stem for a word of words.txt; it computes each stem
// once.
func (l *lexicon) stem(word string) string {
	s, ok := l.stems[word]
	if !ok {
		s = stem(word)
		l.stems[word] = s
	}
	return s
}

// queryStem is stem, but faster for the words of words.txt.
func queryStem(word string) string {
	if s, ok := words().stems[word]; ok {
		return s
	}
	return stem(word)
}
