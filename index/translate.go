package index

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed translations.txt
var translationsFile string

// How much the English word counts against the word of the query in its own language:
// translatedWeight where no tool has that, else besideWeight, or besideUnspaced in a text
// without blanks, of which tools have a pair of characters sooner.
const (
	translatedWeight = 0.9
	besideWeight     = 0.3
	besideUnspaced   = 0.6
)

// A tongue is what is known of one language: which words of tools its words stand for.
type tongue struct {
	name  string
	stems []func(string) string
	words map[string][]string // English words by stem; several words of a phrase are joined by "_"
	stop  map[string]bool
	// sorted are the stems, to find words that differ from one in their ending only.
	sorted []string
	// longest is the number of words of the longest phrase, or of the letters of the
	// longest word of a language without blanks.
	longest   int
	compounds bool // words are written together, as in German
}

// stemmersOf returns the stemmers of the languages of translations.txt. Languages
// without endings have none.
var stemmersOf = map[string][]func(string) string{
	"ru": {cyrillic.stem[0]}, "uk": {ukrainian.stem}, "de": {latin.stem[4]}, "fr": {latin.stem[3]}, "es": {latin.stem[10]}, "pt": {portugueseStem},
	"it": {latin.stem[6]}, "nl": {latin.stem[1]}, "pl": {polish.stem}, "tr": {turkishStem}, "ar": {arabicStem, arabicRoot}, "he": {hebrewStem},
	"hi": {devanagari.stem[0]}, "el": {greekEndings.stem},
}

// scriptOf returns a name of the script of a word, by which languages are chosen.
func scriptOf(word string) string {
	r, _ := utf8.DecodeRuneInString(word)
	switch alphabetOf(word) {
	case latin:
		return "latin"
	case cyrillic:
		return "cyrillic"
	case greek:
		return "greek"
	case arabic:
		return "arabic"
	case hebrew:
		return "hebrew"
	case devanagari:
		return "devanagari"
	}
	switch {
	case unicode.Is(unicode.Thai, r):
		return "thai"
	case isCJK(r):
		return "cjk"
	}
	return ""
}

// tongues are the languages of a script, read when a query needs them first.
var tongues = map[string]func() []*tongue{
	"latin":      readTongues("de fr es pt it nl pl tr vi"),
	"cyrillic":   readTongues("ru uk"),
	"greek":      readTongues("el"),
	"arabic":     readTongues("ar"),
	"hebrew":     readTongues("he"),
	"devanagari": readTongues("hi"),
	"thai":       readTongues("th"),
	"cjk":        readTongues("zh ja ko"),
}

func readTongues(names string) func() []*tongue {
	return sync.OnceValue(func() []*tongue {
		list, err := parseTranslations(translationsFile, strings.Fields(names))
		if err != nil {
			panic("index: translations.txt: " + err.Error()) // a test reads the file
		}
		return list
	})
}

// parseTranslations reads the columns of some languages.
func parseTranslations(text string, names []string) ([]*tongue, error) {
	var head []string
	var list []*tongue
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		columns := strings.Split(line, "|")
		if head == nil {
			head = columns
			for _, name := range names {
				list = append(list, &tongue{name: name, stems: stemmersOf[name], words: map[string][]string{}, stop: map[string]bool{}, compounds: name == "de" || name == "nl"})
			}
			continue
		}
		if len(columns) != len(head) {
			return nil, fmt.Errorf("line %d: %d columns, want %d", n, len(columns), len(head))
		}
		for _, t := range list {
			t.add(columns[0], strings.Fields(columns[slices.Index(head, t.name)]))
		}
	}
	for _, t := range list {
		for s := range t.words {
			t.sorted = append(t.sorted, s)
		}
		slices.Sort(t.sorted)
	}
	return list, nil
}

func (t *tongue) add(english string, words []string) {
	for _, w := range words {
		if english == "stop" {
			t.stop[plain(w)] = true
			continue
		}
		size := 0
		parts := strings.Split(strings.ToLower(w), "_")
		for i, p := range parts {
			size += utf8.RuneCountInString(p)
			parts[i] = t.stem(p)
		}
		if !isUnspacedWord(w) {
			size = len(parts)
		}
		t.longest = max(t.longest, size)
		key := strings.Join(parts, "_")
		if !slices.Contains(t.words[key], english) {
			t.words[key] = append(t.words[key], english)
		}
		if len(t.stems) > 1 && len(parts) == 1 {
			if root := t.stems[1](parts[0]); root != "" && t.words[root] == nil {
				t.words[root] = []string{english}
			}
		}
	}
}

func isUnspacedWord(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return isUnspaced(r)
}

// stem returns the stem of a word as written, without accents.
func (t *tongue) stem(written string) string {
	if len(t.stems) == 0 {
		if isUnspacedWord(written) {
			return written
		}
		return strings.ReplaceAll(strings.ToLower(written), "’", "'")
	}
	if s := plain(t.stems[0](written)); s != "" {
		return s
	}
	return plain(written)
}

// english returns the English words that a word stands for.
func (t *tongue) english(written string) []string {
	s := t.stem(written)
	if list := t.words[s]; list != nil || len(t.stems) == 0 {
		return list
	}
	if len(t.stems) > 1 {
		if list := t.words[t.stems[1](written)]; list != nil {
			return list
		}
	}
	if list := t.nearest(s); list != nil {
		return list
	}
	if t.compounds {
		return t.compound(plain(written))
	}
	return nil
}

// leastCommon is how many letters stems that differ in their endings must share, and
// mostEnding how many letters such an ending has.
const (
	leastCommon = 4
	mostEnding  = 3
)

// leastAlone is the number of bytes of the shortest word that is translated by its stem
// where nothing else tells the language: "zebra" is not a form of Polish "zebrać".
const leastAlone = 6

// nearest returns what the stem that shares most letters with s stands for.
func (t *tongue) nearest(s string) []string {
	i, _ := slices.BinarySearch(t.sorted, s)
	n, best, share := utf8.RuneCountInString(s), -1, leastCommon-1
	for _, j := range []int{i - 1, i} {
		if j < 0 || j >= len(t.sorted) || strings.Contains(t.sorted[j], "_") {
			continue
		}
		c := common(s, t.sorted[j])
		if m := utf8.RuneCountInString(t.sorted[j]); c > share && n-c <= mostEnding && m-c <= mostEnding && 2*(n-c) <= c && 2*(m-c) <= c {
			best, share = j, c
		}
	}
	if best < 0 {
		return nil
	}
	return t.words[t.sorted[best]]
}

// common is the number of letters with which both words begin.
func common(a, b string) int {
	n := 0
	for a != "" && b != "" {
		r, i := utf8.DecodeRuneInString(a)
		q, j := utf8.DecodeRuneInString(b)
		if r != q {
			break
		}
		a, b = a[i:], b[j:]
		n++
	}
	return n
}

// compound returns what the two words of a compound stand for: Aktienkurs, diamodel.
func (t *tongue) compound(word string) []string {
	const least = 3
	for i := len(word) - least; i >= least; i-- {
		right := t.words[t.stem(word[i:])]
		if right == nil {
			continue
		}
		left := word[:i]
		for _, link := range []string{"", "s", "es", "n", "en", "e"} {
			if l, ok := strings.CutSuffix(left, link); ok && len(l) >= least {
				if list := t.words[t.stem(l)]; list != nil {
					return append(slices.Clone(list), right...)
				}
			}
		}
	}
	return nil
}

// A translation is what a part of a text stands for in English.
type translation struct {
	english []string
	skip    bool // it is the rest of a phrase, or says nothing
	// apart is what a word of a phrase stands for by itself, for tools that have no word for
	// the phrase.
	apart []string
}

// translate returns what the pieces of a text stand for, by where they begin, if the
// text is in one of the languages of its script.
func translate(text string) map[int]translation {
	var list []piece
	script := ""
	pieces(text, func(p piece) bool {
		if s := scriptOf(p.whole); !p.unspaced && s != "" && (script == "" || script == "latin" && s != "latin") {
			script = s
		}
		list = append(list, p)
		return len(list) < 2*maxQueryWords
	})
	if script == "" {
		return nil
	}
	var best map[int]translation
	most := 0
	for _, t := range tongues[script]() {
		found, known, words, sure := t.read(list, script)
		if script == "latin" && (known < 2 && known < words || 3*known < words || !sure) {
			continue
		}
		switch {
		case known > most:
			best, most = found, known
		case known == most && known > 0:
			for at, tr := range found { // such as Spanish and Portuguese
				if have, ok := best[at]; !ok {
					best[at] = tr
				} else if !have.skip && !tr.skip {
					best[at] = translation{english: union(have.english, tr.english)}
				}
			}
		}
	}
	return best
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, w := range b {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// read translates the pieces of a script, and returns how many of how many words it
// knows. It is sure if one of them is more than the beginning of a word that it knows.
func (t *tongue) read(list []piece, script string) (found map[int]translation, known, words int, sure bool) {
	found = map[int]translation{}
	for i := 0; i < len(list); i++ {
		p := list[i]
		if p.unspaced || scriptOf(p.whole) != script || hasDigit(p.whole) {
			continue
		}
		words++
		if t.stop[p.whole] {
			found[p.start] = translation{skip: true}
			known++
			sure = true
			continue
		}
		n, english := t.phrase(list[i:])
		if n == 0 {
			continue
		}
		if len(list) == 1 && len(p.written) < leastAlone && t.stem(p.written) != p.written {
			continue
		}
		sure = sure || n > 1 || t.words[t.stem(p.written)] != nil || t.nearest(t.stem(p.written)) == nil
		tr := translation{english: english}
		if n > 1 {
			tr.apart = t.english(p.written)
		}
		found[p.start] = tr
		known += n
		words += n - 1
		for k := 1; k < n; k++ {
			rest := translation{skip: true}
			if !t.stop[list[i+k].whole] {
				rest.apart = t.english(list[i+k].written)
			}
			found[list[i+k].start] = rest
		}
		i += n - 1
	}
	return found, known, words, sure
}

// phrase returns what the longest phrase with which a list begins stands for, and of how
// many words it is.
func (t *tongue) phrase(list []piece) (n int, english []string) {
	for n := min(t.longest, len(list)); n > 1; n-- {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = t.stem(list[i].written)
		}
		if e := t.words[strings.Join(parts, "_")]; e != nil {
			return n, e
		}
	}
	if e := t.english(list[0].written); e != nil {
		return 1, e
	}
	return 0, nil
}

// An unspacedWord is a word found in a text without blanks.
type unspacedWord struct {
	word    string
	english []string
}

// wordsOf returns the known words of a run of a script without blanks, the longest at
// each place.
func wordsOf(run string) (list []unspacedWord) {
	known := tongues[scriptOf(run)]
	if known == nil {
		return nil
	}
	all := known()
	longest := 0
	for _, t := range all {
		longest = max(longest, t.longest)
	}
	for i := 0; i < len(run); {
		_, size := utf8.DecodeRuneInString(run[i:])
		w, english := longestWord(all, run, i, longest)
		if w == "" {
			i += size
			continue
		}
		list = append(list, unspacedWord{w, english})
		i += len(w)
	}
	return list
}

func longestWord(all []*tongue, run string, at, longest int) (word string, english []string) {
	end := at
	for n := 1; n <= longest && end < len(run); n++ {
		_, size := utf8.DecodeRuneInString(run[end:])
		end += size
		w := run[at:end]
		if n == 1 && !alone(run, at, end) {
			continue
		}
		var e []string
		for _, t := range all {
			e = union(e, t.words[w])
		}
		if len(e) > 0 {
			word, english = w, e
		}
	}
	return word, english
}

// alone reports whether no Chinese character is beside run[at:end]: in the middle of
// others, one says little.
func alone(run string, at, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(run[:at])
	after, _ := utf8.DecodeRuneInString(run[end:])
	return !unicode.Is(unicode.Han, before) && !unicode.Is(unicode.Han, after) && !unicode.Is(unicode.Hangul, before) && !unicode.Is(unicode.Hangul, after)
}
