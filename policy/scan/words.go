package scan

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed words.txt
var wordList string

// A class is the role of a word in an instruction. A word may have several. words.txt lists the
// words of each class.
type class uint64

// Classes that are not in words.txt.
const (
	foreign class = 1 << iota // a word of another language than English
	sink                      // an address for sending data
	sinkBad                   // an address known for collecting data
	other                     // a tool of another server
	param                     // a parameter of this tool
)

// classNamed maps the names in words.txt and in rules to classes.
var classNamed = func() map[string]class {
	names := map[string]class{"sink": sink, "sinkBad": sinkBad, "other": other, "param": param}
	for line := range strings.Lines(wordList) {
		if name, _, ok := strings.Cut(line, ": "); ok && line[0] != '#' && names[name] == 0 {
			if names[name] = param << (len(names) - 3); names[name] == 0 {
				panic("more than 64 classes")
			}
		}
	}
	return names
}()

// classes returns the classes of some names.
func classes(names string) (c class) {
	for name := range strings.SplitSeq(names, "|") {
		if classNamed[name] == 0 {
			panic("no class " + name)
		}
		c |= classNamed[name]
	}
	return c
}

// Classes with a meaning besides that in rules.
var (
	neg, says, cond, eg, orders   = classes("neg"), classes("says"), classes("cond"), classes("eg"), classes("also|must|silent")
	talk, chat, creds, path       = classes("talk"), classes("chat"), classes("creds"), classes("path")
	environ, destroy, filled      = classes("environ"), classes("destroy"), classes("filled|talk")
	reads, sends, detect, suspect = classes("content|read"), classes("read|send"), classes("detect"), classes("hush|ignore|mutiny|path|command|tell|anyTool")
	instructing                   = classes("must|neg|read|send|put|call|do|ai|orders|path|creds|tell|ignore|user|talk|command") | other | sink | param
)

// A phrase is an entry of words.txt. If stem is set, its last word is a prefix.
type phrase struct {
	words []string
	stem  bool
	class class
}

// phrases are the entries by their first word. Entries that begin with a prefix are keyed by its
// first two bytes, those of scripts without blanks by their first character.
type phrases struct {
	first, stems map[string][]phrase
	runs         map[rune][]phrase
}

var tables = sync.OnceValue(func() *phrases {
	p := &phrases{map[string][]phrase{}, map[string][]phrase{}, map[rune][]phrase{}}
	language := class(0)
	for line := range strings.Lines(wordList) {
		if strings.HasPrefix(line, "other languages") {
			language = foreign
		}
		if name, list, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != '#' {
			for entry := range strings.SplitSeq(list, "|") {
				p.add(fold(entry), classNamed[name]|language)
			}
		}
	}
	return p
})

func (p *phrases) add(entry string, c class) {
	entry, stem := strings.CutSuffix(entry, "*")
	if r, _ := utf8.DecodeRuneInString(entry); dense(r) {
		p.runs[r] = append(p.runs[r], phrase{[]string{entry}, true, c})
		return
	}
	ph := phrase{stem: stem, class: c}
	for _, k := range tokens(entry) {
		ph.words = append(ph.words, entry[k.start:k.end])
	}
	key, in := ph.words[0], p.first
	if stem && len(ph.words) == 1 {
		key, in = key[:2], p.stems
	}
	in[key] = append(in[key], ph)
}

// in reports whether words begin with the phrase.
func (ph *phrase) in(words []string) bool {
	last := len(ph.words) - 1
	if len(words) <= last || words[last] != ph.words[last] && !(ph.stem && strings.HasPrefix(words[last], ph.words[last])) {
		return false
	}
	for i := range last {
		if words[i] != ph.words[i] {
			return false
		}
	}
	return true
}

// at returns the classes of the words and phrases at the beginning of words, and the number of
// words of the longest; rest is the text from there on.
func (p *phrases) at(words []string, rest string) (c class, n int) {
	w, english := words[0], false
	for _, list := range [2][]phrase{p.first[w], p.stems[w[:min(2, len(w))]]} {
		for i := range list {
			if ph := &list[i]; ph.in(words) {
				c, n, english = c|ph.class, max(n, len(ph.words)), english || ph.class&foreign == 0
			}
		}
	}
	if w[0] >= utf8.RuneSelf {
		r, _ := utf8.DecodeRuneInString(w)
		for _, ph := range p.runs[r] {
			if strings.HasPrefix(rest, ph.words[0]) {
				c |= ph.class
			}
		}
	}
	if c == 0 && len(w) >= 4 && strings.ContainsAny(w, "0123456789") { // "1gn0re"
		if plain := unleet(w); !strings.ContainsAny(plain, "0123456789") {
			return p.at([]string{plain}, plain)
		}
	}
	if english {
		c &^= foreign
	}
	return c, n
}
