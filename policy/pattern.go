package policy

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

// maxPattern is the longest pattern, in bytes.
const maxPattern = 1000

// A glob is a pattern of names, where * matches any text and ? one character.
type glob struct {
	text string
	kind byte           // '=' matches the text, '*' anything, 'g' a pattern
	re   *regexp.Regexp // for a pattern with [ ]
}

// newGlob compiles a pattern of names of tools and servers, in which [ab] matches one of several
// characters.
func newGlob(text string) (glob, error) {
	g := plainGlob(text)
	if !strings.ContainsAny(text, `[\`) {
		return g, nil
	}
	if _, err := path.Match(text, ""); err != nil {
		return g, fmt.Errorf("%s is not a valid pattern: * matches any text, ? one character, [ab] one of these", shown(text))
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteString(".")
		case '\\':
			i++
			b.WriteString(regexp.QuoteMeta(text[i : i+1]))
		case '[':
			end := i + 2
			for ; text[end] != ']'; end++ {
				if text[end] == '\\' {
					end++
				}
			}
			b.WriteString("[" + strings.ReplaceAll(text[i+1:end], "[", `\[`) + "]")
			i = end
		default:
			b.WriteString(regexp.QuoteMeta(text[i : i+1]))
		}
	}
	re, err := regexp.Compile(b.String() + `\z`)
	if err != nil {
		return g, fmt.Errorf("%s is not a valid pattern: %w", shown(text), err)
	}
	g.re = re
	return g, nil
}

// plainGlob returns a pattern in which only * and ? are special.
func plainGlob(text string) glob {
	switch {
	case strings.Trim(text, "*") == "" && text != "":
		return glob{text: text, kind: '*'}
	case strings.ContainsAny(text, "*?"):
		return glob{text: text, kind: 'g'}
	}
	return glob{text: text, kind: '='}
}

func (g *glob) matches(name string) bool {
	switch {
	case g.re != nil:
		return g.re.MatchString(name)
	case g.kind == '=':
		return g.text == name
	case g.kind == '*':
		return true
	}
	return globMatch(g.text, name)
}

func (g *glob) matchesBytes(text []byte) bool {
	switch g.kind {
	case '=':
		return g.text == string(text)
	case '*':
		return true
	}
	return globMatch(g.text, text)
}

// globMatch reports whether s matches a pattern of * and ?. It takes at most the time of the
// product of their lengths.
func globMatch[T string | []byte](pattern string, s T) bool {
	p, i := 0, 0
	star, from := -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, i
			p++
			continue
		case p < len(pattern) && pattern[p] == '?':
			p++
			for i++; i < len(s) && s[i]&0xc0 == 0x80; i++ { // the rest of a character
			}
			continue
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
			continue
		case star < 0:
			return false
		}
		from++
		p, i = star+1, from
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// A toolPattern matches tools: those of a server, or of a server and tool in any spelling of ids,
// where both halves may be patterns.
type toolPattern struct {
	text      string
	all       bool // it is "*"
	restricts bool // a restriction, which also matches servers by their plain prefix
	splits    []split
}

// A split is one of the positions at which a pattern may be split. There are several if the
// name of a server contains a separator.
type split struct {
	server, tool glob
}

var separators = []string{"__", ".", "/", ":"}

func newToolPattern(text string) (toolPattern, error) {
	p := toolPattern{text: text, all: text == "*"}
	switch {
	case strings.TrimSpace(text) == "":
		return p, fmt.Errorf("a pattern is empty: write a server, or server.tool")
	case len(text) > maxPattern:
		return p, fmt.Errorf("a pattern has %d bytes; at most %d", len(text), maxPattern)
	}
	whole, err := newGlob(text)
	if err != nil {
		return p, err
	}
	p.splits = append(p.splits, split{whole, plainGlob("*")})
	for i := 1; i < len(text); i++ {
		for _, sep := range separators {
			rest, ok := strings.CutPrefix(text[i:], sep)
			if !ok {
				continue
			}
			if rest == "" && len(p.splits) == 1 {
				return p, fmt.Errorf("%s ends after its server: write %q for all of its tools", shown(text), text+"*")
			}
			server, err1 := newGlob(text[:i])
			tool, err2 := newGlob(rest)
			if err1 == nil && err2 == nil { // otherwise it was split within [ab]
				p.splits = append(p.splits, split{server, tool})
			}
		}
	}
	return p, nil
}

// A target is a tool with the names by which patterns may match it. A tool that the configuration
// has renamed has both of its names.
type target struct {
	server, prefix, tool, id string
	serverPrefix             string // server without a hash, if it differs from prefix
	original                 string // the server's name for the tool
	hasSeparator             bool   // the name of the server contains a separator
}

// targetOf returns the target for t. The prefix of its id is also a name of its server.
func targetOf(t *discovery.Tool) target {
	to := target{server: t.Server, prefix: t.Server, tool: t.Name, id: t.ID, serverPrefix: t.PlainPrefix, original: t.OwnName()}
	to.hasSeparator = strings.ContainsAny(t.Server, "./:") || strings.Contains(t.Server, "__")
	for i := len(t.ID) - len(t.Name) - len("__"); i >= 0; i-- {
		if strings.HasPrefix(t.ID[i:], "__") && strings.HasPrefix(t.ID[i+2:], t.Name) {
			to.prefix = t.ID[:i]
			break
		}
	}
	return to
}

func (p *toolPattern) matches(t *target) bool {
	if p.all || p.text == t.id {
		return true
	}
	for i := range p.splits {
		if i == 0 && len(p.splits) > 1 && !t.hasSeparator && t.prefix == t.server {
			continue // the whole text does not match such a server
		}
		w := &p.splits[i]
		if (w.server.matches(t.server) || t.prefix != t.server && w.server.matches(t.prefix) || p.restricts && t.serverPrefix != "" && w.server.matches(t.serverPrefix)) &&
			(w.tool.matches(t.tool) || t.original != t.tool && w.tool.matches(t.original)) {
			return true
		}
	}
	return false
}

// widen makes restricting patterns match all servers with ids that would have the same prefix
// without a hash.
func widen(patterns []toolPattern) {
	for i := range patterns {
		patterns[i].restricts = true
	}
}

// anyMatches reports whether one of the patterns matches t.
func anyMatches(patterns []toolPattern, t *target) bool {
	for i := range patterns {
		if patterns[i].matches(t) {
			return true
		}
	}
	return false
}

// anyMatchesName is like anyMatches, for patterns that may also name tools alone.
func anyMatchesName(patterns []toolPattern, t *target) bool {
	for i := range patterns {
		p := &patterns[i]
		if p.matches(t) || p.splits[0].server.matches(t.tool) || p.splits[0].server.matches(t.original) {
			return true
		}
	}
	return false
}

// toolOf returns a tool with the given name, without a catalogue.
func toolOf(name string) *discovery.Tool {
	at, width := -1, 0
	for _, sep := range separators {
		if i := strings.Index(name, sep); i > 0 && (at < 0 || i < at) {
			at, width = i, len(sep)
		}
	}
	if at < 0 {
		return NewTool(discovery.Listing{Server: name}, "")
	}
	return NewTool(discovery.Listing{Server: name[:at]}, name[at+width:])
}

// NewTool returns a tool as a catalogue of this one server would have it, for decisions about
// tools that are not connected.
func NewTool(l discovery.Listing, name string) *discovery.Tool {
	if i := slices.IndexFunc(l.Tools, func(t discovery.ListedTool) bool { return t.Name == name }); i < 0 {
		l.Tools = append(l.Tools, discovery.ListedTool{Name: name})
	}
	for _, t := range discovery.NewCatalog([]discovery.Listing{l}).Tools() {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Patterns match tools, like the lists of rules.
type Patterns []toolPattern

// NewPatterns reads patterns. The error describes the first invalid one.
func NewPatterns(texts []string) (Patterns, error) {
	var list Patterns
	for _, text := range texts {
		p, err := newToolPattern(text)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// Restricting returns the patterns for a restriction: they match all servers with ids that would
// have the same prefix without a hash.
func (p Patterns) Restricting() Patterns {
	p = slices.Clone(p)
	widen(p)
	return p
}

// MatchServer reports whether one of the patterns may match tools of a server.
func (p Patterns) MatchServer(name string) bool {
	for i := range p {
		for j := range p[i].splits {
			if w := &p[i].splits[j]; w.server.matches(name) || w.server.matches(tsname.Prefix(name)) {
				return true
			}
		}
	}
	return false
}

// Match reports whether one of the patterns matches t.
func (p Patterns) Match(t *discovery.Tool) bool {
	to := targetOf(t)
	return anyMatches(p, &to)
}
