package scan

import (
	_ "embed"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed words.txt
var wordList string

//go:embed lists.txt
var listTable string

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

// entries yields the names and the lists of the lines "name: list" of a table.
func entries(table string) iter.Seq2[string, string] {
	return func(yield func(name, list string) bool) {
		for line := range strings.Lines(table) {
			if name, list, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != '#' && !yield(name, list) {
				return
			}
		}
	}
}

// lists are the lists of lists.txt, by name.
var lists = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for name, list := range entries(listTable) {
		m[name] = append(m[name], strings.Split(list, "; ")...)
	}
	return m
})

// classNamed maps the names in words.txt and in rules to classes.
var classNamed = func() map[string]class {
	names := map[string]class{"sink": sink, "sinkBad": sinkBad, "other": other, "param": param}
	for name := range entries(wordList) {
		if names[name] == 0 {
			names[name] = param << (len(names) - 3)
		}
	}
	return names
}()

// classes returns the classes of some names.
func classes(names string) (c class) {
	for name := range strings.SplitSeq(names, "|") {
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

// A phrase is an entry of words.txt. If stem is set, its last word is a prefix. In scripts without
// blanks, run is the entry.
type phrase struct {
	words []string
	run   string
	stem  bool
	class class
}

// phrases are the entries by their first word. Entries that begin with a prefix are keyed by its
// first two bytes, those of scripts without blanks by their first character.
type phrases struct{ first, stems map[string][]phrase }

var tables = sync.OnceValue(func() *phrases {
	p := &phrases{map[string][]phrase{}, map[string][]phrase{}}
	english, others, _ := strings.Cut(wordList, "\nother languages")
	for language, table := range map[class]string{0: english, foreign: others} {
		for name, list := range entries(table) {
			for entry := range strings.SplitSeq(list, "|") {
				p.add(fold(entry), classNamed[name]|language)
			}
		}
	}
	return p
})

func (p *phrases) add(entry string, c class) {
	entry, stem := strings.CutSuffix(entry, "*")
	ph := phrase{stem: stem, class: c}
	for _, k := range tokens(entry) {
		ph.words = append(ph.words, entry[k.start:k.end])
	}
	key, in := ph.words[0], p.first
	if r, size := utf8.DecodeRuneInString(entry); dense(r) {
		key, ph.run = entry[:size], entry
	} else if stem && len(ph.words) == 1 {
		key, in = key[:2], p.stems
	}
	in[key] = append(in[key], ph)
}

// begins reports whether a text begins with the phrase: words are its words, from rest on.
func (ph *phrase) begins(words []string, rest string) bool {
	if ph.run != "" {
		return strings.HasPrefix(rest, ph.run)
	}
	last := len(ph.words) - 1
	return len(words) > last && slices.Equal(words[:last], ph.words[:last]) && (words[last] == ph.words[last] || ph.stem && strings.HasPrefix(words[last], ph.words[last]))
}

// at returns the classes of the words and phrases at the beginning of words, and the number of
// words of the longest; rest is the text from there on.
func (p *phrases) at(words []string, rest string) (c class, n int) {
	w, english := words[0], false
	for _, list := range [2][]phrase{p.first[w], p.stems[w[:min(2, len(w))]]} {
		for i := range list {
			if ph := &list[i]; ph.begins(words, rest) {
				c, english = c|ph.class, english || ph.class&foreign == 0
				if ph.run == "" {
					n = max(n, len(ph.words))
				}
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
