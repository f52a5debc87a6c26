package find

import (
	"iter"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

// A lineCache caches the lines of the tools of one catalogue, since decoding a schema
// takes a quarter of the time of a search. The zero value is ready to use. It is safe
// for concurrent use.
type lineCache struct {
	mu      sync.Mutex
	catalog *discovery.Catalog
	lines   map[lineKey]codegen.Line // at most one for each tool of the catalogue, and maxWantedLines
	wanted  int                      // the number of lines for parameters that queries named
}

// maxWantedLines bounds the lines that are cached because queries named parameters.
const maxWantedLines = 2000

// A lineKey names a tool and the optional parameters that a query names, each preceded
// by a blank.
type lineKey struct {
	tool   *discovery.Tool
	wanted string
}

// get returns the line for a key in catalogue c. It calls make if the line is not
// cached.
func (l *lineCache) get(c *discovery.Catalog, key lineKey, make func() codegen.Line) codegen.Line {
	l.mu.Lock()
	line, ok := l.lines[key]
	ok = ok && l.catalog == c
	l.mu.Unlock()
	if ok {
		return line
	}
	line = make()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.catalog != c || l.wanted >= maxWantedLines {
		l.catalog, l.lines, l.wanted = c, map[lineKey]codegen.Line{}, 0
	}
	l.lines[key] = line
	if key.wanted != "" {
		l.wanted++
	}
	return line
}

// line returns the line of a tool. It does not cache learned types, which change with
// each call.
func (w renderer) line(s *discovery.Server, t *discovery.Tool) codegen.Line {
	if w.lines == nil || w.types.Output != nil && w.types.Output(t) != nil {
		return w.types.Line(s, t)
	}
	line := w.lines.get(w.scope, lineKey{tool: t}, func() codegen.Line {
		return (&codegen.Generator{Output: w.types.Output}).Line(s, t)
	})
	if w.types.Wanted != nil && line.Omitted != "" && w.types.Wanted(line.Omitted) {
		key := lineKey{tool: t}
		for name := range strings.FieldsSeq(line.Optional) {
			if w.types.Wanted(name) {
				key.wanted += " " + name
			}
		}
		return w.lines.get(w.scope, key, func() codegen.Line { return w.types.Line(s, t) })
	}
	return line
}

// wanting returns types that keep the parameters whose names contain a word of a query.
func wanting(types *codegen.Generator, query string) *codegen.Generator {
	words := make(map[string]bool)
	for word := range strings.FieldsFuncSeq(strings.ToLower(query), func(r rune) bool { return !isWordRune(r) }) {
		if word = singular(word); len(word) >= minWanted && !unwanted[word] && len(words) < maxWords {
			words[word] = true
		}
	}
	if len(words) == 0 {
		return types
	}
	with := *types
	with.Wanted = func(parameter string) bool {
		for word := range wordsIn(parameter) {
			if words[singular(strings.ToLower(word))] {
				return true
			}
		}
		return false
	}
	return &with
}

const (
	// minWanted bounds the words of a query that keep a parameter from below, and
	// maxWords their number.
	minWanted, maxWords = 3, 40
)

// unwanted are words without a meaning of their own.
var unwanted = map[string]bool{"the": true, "and": true, "for": true, "with": true, "from": true, "into": true, "all": true, "how": true, "get": true, "list": true, "that": true, "not": true}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func singular(word string) string {
	if len(word) > minWanted && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") {
		return word[:len(word)-1]
	}
	return word
}

// wordsIn returns the words of a name such as includeImage or max_results.
func wordsIn(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		var before rune
		for i, r := range name {
			switch {
			case !unicode.IsLetter(r) && !unicode.IsDigit(r):
				if start < i && !yield(name[start:i]) {
					return
				}
				start = i + utf8.RuneLen(r)
			case unicode.IsUpper(r) && unicode.IsLower(before) && start < i:
				if !yield(name[start:i]) {
					return
				}
				start = i
			}
			before = r
		}
		if start < len(name) {
			yield(name[start:])
		}
	}
}
