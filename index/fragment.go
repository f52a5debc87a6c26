package index

import (
	"strings"
	"unicode/utf8"
)

// Fragment returns the part of text, of at most the given number of bytes, that
// contains most words of the query as Search understands it, or "". Words that are only
// related to those of the query do not count. White space becomes single blanks, and "…"
// marks omissions.
func (x *Index) Fragment(query, text string, most int) string {
	wanted := x.wantedStems(query)
	if len(wanted) == 0 {
		return ""
	}
	at := occurrences(text, wanted)
	const marks = 2 * len("…")
	best, start, end := 0.0, 0, 0
	count := map[int]int{} // by word of the query: how often it is in the window
	sum := 0.0
	for i, first := 0, 0; i < len(at); i++ {
		if count[at[i].word]++; count[at[i].word] == 1 {
			sum += at[i].weight
		}
		for at[i].end-at[first].start > most-marks && first < i {
			if count[at[first].word]--; count[at[first].word] == 0 {
				sum -= at[first].weight
			}
			first++
		}
		if sum > best {
			best, start, end = sum, at[first].start, at[i].end
		}
	}
	if best == 0 || end-start > most-marks {
		return ""
	}
	return around(text, start, end, most-marks)
}

// A wantedStem is a word of a query that a stem answers, and how well.
type wantedStem struct {
	word   int
	weight float64
}

// wantedStems are the stems that answer a query.
func (x *Index) wantedStems(query string) map[string]wantedStem {
	x.mu.RLock()
	defer x.mu.RUnlock()
	wanted := map[string]wantedStem{}
	_ = guard(func() { // without an index that can be read there are none
		for i, w := range x.current.parse(query).wanted {
			for _, v := range w.to {
				// A word of a letter without a shape has an empty stem.
				if weight := v.weight * w.idf; !v.related && v.word.stem != "" && weight > wanted[v.word.stem].weight {
					wanted[v.word.stem] = wantedStem{i, weight}
				}
			}
		}
	})
	return wanted
}

// A foundWord is a wanted word in a text, and where it is.
type foundWord struct {
	start, end int
	wantedStem
}

func occurrences(text string, wanted map[string]wantedStem) []foundWord {
	var begins [256]bool // a stem begins as its words do: most words need no look
	for s := range wanted {
		begins[s[0]] = true
	}
	var list []foundWord
	pieces(text, func(p piece) bool {
		var found wantedStem
		look := func(w string) {
			if w == "" || w[0] < utf8.RuneSelf && !begins[w[0]] {
				return
			}
			if match := wanted[stem(w)]; match.weight > found.weight {
				found = match
			}
		}
		look(p.whole)
		for _, w := range p.parts {
			look(w)
		}
		if found.weight > 0 {
			list = append(list, foundWord{p.start, p.end, found})
		}
		return true
	})
	return list
}

// around is text from start to end with as many whole words around it, mostly
// behind it, as most bytes hold.
func around(text string, start, end, most int) string {
	from := max(0, start-(most-(end-start))/4)
	to := min(len(text), from+most)
	if from > 0 {
		from += max(0, strings.IndexAny(text[from:start]+" ", " \t\r\n"))
		from = min(from, start)
	}
	if to < len(text) {
		to = end + max(0, strings.LastIndexAny(text[end:to], " \t\r\n"))
	}
	s := strings.Join(strings.Fields(strings.ToValidUTF8(text[from:to], "")), " ")
	if from > 0 {
		s = "…" + s
	}
	if to < len(text) {
		s += "…"
	}
	return s
}
