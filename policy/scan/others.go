package scan

import (
	"strings"
	"sync"
)

// Others are the tools of all servers that are connected, as far as one needs
// them to see that another tool speaks about them or looks like them. The nil
// *Others knows none. It may be shared once all have been added.
type Others struct {
	tools   map[string][]otherTool // by folded name
	servers map[string]map[string]bool

	byLen map[int][]string // folded names of tools
	// Tools of one server repeat each other: what had nothing in it has nothing
	// the second time.
	mu    sync.Mutex
	inert map[leafKey]class // what is in them
}

type leafKey struct {
	server, text string
	place        place
}

// maxInert bounds what is remembered.
const maxInert = 1 << 15

func (o *Others) isInert(k leafKey) (class, bool) {
	if o == nil {
		return 0, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	c, ok := o.inert[k]
	return c, ok
}

func (o *Others) setInert(k leafKey, c class) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.inert == nil {
		o.inert = map[leafKey]class{}
	}
	if len(o.inert) < maxInert {
		o.inert[k] = c
	}
}

type otherTool struct{ server, name, description string }

// Add adds a tool of a server.
func (o *Others) Add(server, tool, description string) {
	if o.tools == nil {
		o.tools, o.servers, o.byLen = map[string][]otherTool{}, map[string]map[string]bool{}, map[int][]string{}
	}
	name := fold(tool)
	server = fold(server)
	o.inert = nil
	if o.tools[name] == nil {
		o.byLen[len(name)] = append(o.byLen[len(name)], name)
	}
	o.tools[name] = append(o.tools[name], otherTool{server, tool, description})
	if o.servers[server] == nil {
		o.servers[server] = map[string]bool{}
	}
	o.servers[server][name] = true
}

// of returns the names of the tools of a server.
func (o *Others) of(server string) map[string]bool {
	if o == nil {
		return nil
	}
	return o.servers[fold(server)]
}

// foreign reports whether a name, in lower case, is that of a tool of another
// server: names that are words count only where ticked or called says that a tool
// is meant.
func (s *scope) foreign(name string, ticked, called bool) bool {
	if len(name) < 3 || s.own[name] {
		return false
	}
	name = strings.TrimPrefix(name, "mcp__")
	for _, sep := range []string{"__", ".", "/", ":"} {
		if strings.IndexByte(name, sep[0]) < 0 {
			continue
		}
		server, tool, ok := strings.Cut(name, sep)
		if !ok || server == "" || tool == "" {
			continue
		}
		if s.others != nil && s.others.servers[server] != nil && server != s.server {
			return sep == "__" || s.others.servers[server][tool]
		}
		// Nobody else writes two underscores, except around names of Python.
		if sep == "__" && len(server) >= 2 && len(tool) >= 3 && server != s.server && strings.Trim(server, "_") != "" && !strings.Contains(tool, "__") && !s.params[name] {
			return squash(server) != squash(s.server)
		}
	}
	if s.others == nil {
		return false
	}
	if strings.ContainsAny(name, "_-") || ticked || called {
		for _, t := range s.others.tools[name] {
			if t.server != s.server {
				return !s.params[name]
			}
		}
	}
	return called && name != s.server && s.others.servers[name] != nil
}

// squash is a name of a server without separators.
var squash = strings.NewReplacer("-", "", "_", "", " ", "").Replace

// imitated finds tools of other servers that this one looks like.
func (o *Others) imitated(server string, w *walker) {
	if o == nil || w.name == "" {
		return
	}
	me, name := fold(server), fold(w.name)
	for _, t := range o.tools[name] {
		switch {
		case t.server == me:
		case t.name != w.name && !strings.EqualFold(t.name, w.name): // the same only to the eye
			w.report.add("name", Block, "shadowing", "lookalikes")
		case sibling(me, t.server):
		case similar(t.description, w.description), typo(squash(me), squash(t.server)):
			w.report.add("name", Review, "shadowing")
		}
	}
	for other := range o.servers { // "github__create_issue" on a server that is not github
		if other == me || len(other) < 3 || len(o.servers) > 64 {
			continue
		}
		if rest, ok := strings.CutPrefix(name, other); ok && len(rest) > 1 && strings.IndexByte("_-.:/", rest[0]) >= 0 && o.servers[other][strings.TrimLeft(rest, "_-.:/")] {
			w.report.add("name", Review, "shadowing")
		}
	}
	if len(o.tools) > 2000 || len(w.description) < 12 {
		return
	}
	// A name one letter off, with the same text.
	for n := max(4, len(name)-1); n <= len(name)+1; n++ {
		for _, other := range o.byLen[n] {
			if other[0] != name[0] && other[n-1] != name[len(name)-1] || other == name || !typo(name, other) {
				continue
			}
			for _, t := range o.tools[other] {
				if t.server != me && !sibling(me, t.server) && similar(t.description, w.description) {
					w.report.add("name", Review, "shadowing")
				}
			}
		}
	}
}

// typo reports whether two names differ by a slip: one letter more, less or
// other, two swapped, or digits that look like letters.
func typo(a, b string) bool {
	if a == b || len(a) < 4 || len(b) < 4 || len(a)-len(b) > 1 || len(b)-len(a) > 1 {
		return false
	}
	longest := max(len(a), len(b))
	p, q := 0, 0
	for p < min(len(a), len(b)) && a[p] == b[p] {
		p++
	}
	for q < min(len(a), len(b))-p && a[len(a)-1-q] == b[len(b)-1-q] {
		q++
	}
	if p+q < longest-2 {
		return len(a) == len(b) && strings.ContainsAny(a+b, "0134578@$") && unleet(a) == unleet(b)
	}
	if strings.TrimRight(a, "0123456789") == strings.TrimRight(b, "0123456789") {
		return false // shop1, shop2
	}
	return p+q >= longest-1 || a[p] == b[p+1] && a[p+1] == b[p] // one letter, or two swapped
}

// sibling reports whether two servers are two of one kind by their names, such
// as slack-work and slack-home.
func sibling(a, b string) bool {
	a, b = base(a), base(b)
	return a == b && a != ""
}

var dashed = strings.NewReplacer("_", "-", " ", "-", ".", "-").Replace

// base is a server's name without a word that tells two of a kind apart.
func base(s string) string {
	s = dashed(s)
	parts := strings.Split(s, "-")
	kept := parts[:0]
	for _, p := range parts {
		switch p {
		case "prod", "production", "dev", "development", "staging", "stage", "test", "testing", "qa", "work", "home", "personal", "private", "company", "eu", "us", "local", "remote", "primary", "secondary", "backup", "old", "new", "legacy",
			"main", "live", "sandbox", "demo", "internal", "external", "read", "readonly", "ro", "rw", "north", "south", "east", "west", "a", "b", "1", "2", "3":
		default:
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "-")
}

// similar reports whether two descriptions are nearly the same.
func similar(a, b string) bool {
	a, b = fold(a), fold(b)
	if len(a) < 12 || len(b) < 12 {
		return false
	}
	if a == b {
		return true
	}
	words := map[string]bool{}
	for w := range strings.FieldsFuncSeq(a, notWord) {
		words[w] = true
	}
	all, same := len(words), 0
	seen := map[string]bool{}
	for w := range strings.FieldsFuncSeq(b, notWord) {
		if seen[w] {
			continue
		}
		seen[w] = true
		if words[w] {
			same++
		} else {
			all++
		}
	}
	return same >= 4 && same*10 >= all*8 || same >= 8 && same*10 >= len(words)*9
}

func notWord(r rune) bool { return r < 0x80 && !isWord(byte(r)) }
