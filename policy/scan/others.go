package scan

import (
	"hash/maphash"
	"strings"
	"sync"
)

// Others are the tools of all servers that are connected, as far as one needs
// them to see that another tool speaks about them or looks like them. The nil
// *Others knows none. It may be shared once all have been added.
type Others struct {
	tools   map[string][]otherTool // by folded name
	servers map[string]map[string]bool

	byTips map[[2]int][]otherTool // by the length and the first letter of folded names, or the last
	// Tools of one server repeat each other: a harmless text is harmless the second
	// time. Keys are unpredictable hashes.
	seed  maphash.Seed
	mu    sync.Mutex
	inert map[uint64]class // what is in them
}

// maxInert bounds what is remembered.
const maxInert = 1 << 15

// hash is that of a text.
func (o *Others) hash(s string) uint64 {
	if o == nil || o.tools == nil {
		return 0
	}
	return maphash.String(o.seed, s)
}

func (o *Others) isInert(key uint64) (class, bool) {
	if o == nil {
		return 0, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	c, ok := o.inert[key]
	return c, ok
}

func (o *Others) setInert(key uint64, c class) {
	if o == nil || o.tools == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.inert == nil {
		o.inert = map[uint64]class{}
	}
	if len(o.inert) < maxInert {
		o.inert[key] = c
	}
}

type otherTool struct{ server, folded, name, description string }

// Add adds a tool of a server.
func (o *Others) Add(server, tool, description string) {
	if o.tools == nil {
		o.seed = maphash.MakeSeed()
		o.tools, o.servers, o.byTips = map[string][]otherTool{}, map[string]map[string]bool{}, map[[2]int][]otherTool{}
	}
	name := fold(tool)
	server = fold(server)
	o.inert = nil
	t := otherTool{server, name, tool, description}
	if n := len(name); n >= 4 {
		for _, k := range tips(name, n) {
			o.byTips[k] = append(o.byTips[k], t)
		}
	}
	o.tools[name] = append(o.tools[name], t)
	if o.servers[server] == nil {
		o.servers[server] = map[string]bool{}
	}
	o.servers[server][name] = true
}

// of returns the names of the tools of a server with the given folded name.
func (o *Others) of(server string) map[string]bool {
	if o == nil {
		return nil
	}
	return o.servers[server]
}

// foreign reports whether a name, in lower case, is that of a tool of another server.
// Names that are common words count only if ticked or called marks them as tools.
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
		if sep == "__" && len(server) >= 2 && len(tool) >= 3 && server != s.server && strings.Trim(server, "_") != "" && !strings.Contains(tool, "__") && !s.param(name) {
			return squash(server) != squash(s.server)
		}
	}
	if s.others == nil {
		return false
	}
	if strings.ContainsAny(name, "_-") || ticked || called {
		for _, t := range s.others.tools[name] {
			if t.server != s.server {
				return !s.param(name)
			}
		}
	}
	return called && name != s.server && s.others.servers[name] != nil
}

// squash is a name of a server without separators.
var squash = strings.NewReplacer("-", "", "_", "", " ", "").Replace

// imitated finds tools of other servers that this one looks like.
func (o *Others) imitated(w *walker) {
	if o == nil || w.name == "" {
		return
	}
	me, name := w.scope.server, fold(w.name)
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
	for i := 3; i+1 < len(name) && len(o.servers) <= 64; i++ { // "github__create_issue" on a server that is not github
		if strings.IndexByte("_-.:/", name[i]) < 0 || name[:i] == me {
			continue
		}
		if o.servers[name[:i]][strings.TrimLeft(name[i:], "_-.:/")] {
			w.report.add("name", Review, "shadowing")
		}
	}
	if len(o.tools) > 2000 || len(w.description) < 12 {
		return
	}
	// A name one letter off, with the same text.
	for n := max(4, len(name)-1); n <= len(name)+1; n++ {
		for _, k := range tips(name, n) {
			for _, t := range o.byTips[k] {
				if t.server != me && typo(name, t.folded) && !sibling(me, t.server) && similar(t.description, w.description) {
					w.report.add("name", Review, "shadowing")
				}
			}
		}
	}
}

// tips are the keys of a name among those of n letters.
func tips(name string, n int) [2][2]int {
	return [2][2]int{{n, int(name[0])}, {n, -int(name[len(name)-1])}}
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

// clientSuffixes are the ends of names that a server gets when two clients have one of
// this name, such as filesystem-cursor.
var clientSuffixes = []string{"-claude-code", "-claude-desktop", "-cursor", "-vscode", "-codex", "-gemini", "-windsurf", "-zed", "-opencode"}

// base is a server's name without a word that tells two of a kind apart.
func base(s string) string {
	s = dashed(s)
	for _, suffix := range clientSuffixes {
		s = strings.TrimSuffix(s, suffix)
	}
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
