package scan

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// Others are the tools of all connected servers, for finding tools that imitate or mention tools
// of other servers. A nil *Others has none. It may be shared once all tools have been added.
type Others struct {
	tools   map[string][]otherTool // by folded name
	servers map[string]map[string]bool
	byLen   map[int][]otherTool // by the length of folded names

	// Tools of one server repeat each other: a harmless text is not scanned a second time.
	seed          maphash.Seed
	harmless      sync.Map // the classes in texts, by the hash of the text
	harmlessCount atomic.Int32
}

// maxQuiet bounds the remembered texts.
const maxQuiet = 1 << 15

// key returns the key of a server's text at a location; ok is false if nothing is remembered.
func (w *walker) key(s string, at location) (key uint64, ok bool) {
	if w.others == nil || w.others.tools == nil {
		return 0, false
	}
	return maphash.String(w.others.seed, w.server) + maphash.String(w.others.seed, s) + uint64(at), true
}

type otherTool struct{ server, folded, name, description string }

// Add adds a tool of a server.
func (o *Others) Add(server, tool, description string) {
	if o.tools == nil {
		o.seed = maphash.MakeSeed()
		o.tools, o.servers, o.byLen = map[string][]otherTool{}, map[string]map[string]bool{}, map[int][]otherTool{}
	}
	o.harmless.Clear()
	o.harmlessCount.Store(0)
	t := otherTool{fold(server), fold(tool), tool, description}
	o.byLen[len(t.folded)] = append(o.byLen[len(t.folded)], t)
	o.tools[t.folded] = append(o.tools[t.folded], t)
	if o.servers[t.server] == nil {
		o.servers[t.server] = map[string]bool{}
	}
	o.servers[t.server][t.folded] = true
}

// named returns the meaning of the name or address that begins with word i of a text.
func (w *walker) named(t *text, i int, k token) (c class) {
	s, before, after, prev, next := t.folded, byte(' '), byte(' '), "", ""
	if k.start > 0 {
		before = s[k.start-1]
	}
	if k.end < len(s) {
		after = s[k.end]
	}
	if i > 0 {
		prev = t.words[i-1]
	}
	if i+1 < len(t.words) {
		next = t.words[i+1]
	}
	called := prev == "tool" || prev == "invoke" || strings.HasPrefix(prev, "call") || next == "tool" || next == "function" || after == '('
	into := prev == "in" || prev == "as" || prev == "to" || prev == "into" || next == "parameter" || next == "argument" || next == "field"
	if inName[before] && before != '+' || !called && !into && before != '`' && before != '+' && strings.IndexByte("`'\"_-@:/.", after) < 0 && !strings.ContainsAny(t.words[i], "0123456789") {
		return 0
	}
	end := k.start
	for end < len(s) && inName[s[end]] {
		end++
	}
	name := strings.TrimRight(s[k.start:end], ".:?-")
	ticked := end < len(s) && before == s[end] && strings.IndexByte("`'\"", before) >= 0
	at := strings.IndexByte(name, '@')
	if strings.Contains(name, "://") && !strings.HasPrefix(name, "file:") || at > 0 && strings.Contains(name[at:], ".") ||
		len(name) >= 8 && strings.ContainsAny(name, "0123456789") && (account.MatchString(name) || before == '+' && account.MatchString("+"+name)) {
		c = sink
	}
	if strings.Contains(name, ".") && containsAny(name, lists()["collectors"]...) {
		c |= sink | sinkBad
	}
	if c == 0 && (ticked || into) && w.params[name] {
		c = param
	}
	if c&sink == 0 && w.foreign(name, ticked, called) {
		c |= other
	}
	return c
}

// inName are the bytes of names, addresses and URLs.
var inName = func() (t [256]bool) {
	for _, c := range "abcdefghijklmnopqrstuvwxyz0123456789+%?=&{}$._-/:@" {
		t[c] = true
	}
	return t
}()

// foreign reports whether a lower-case name is that of a tool of another server. Names that are
// common words count only if ticked or called marks them as tools.
func (w *walker) foreign(name string, ticked, called bool) bool {
	o := w.others
	if o == nil {
		o = &Others{}
	}
	name = strings.TrimPrefix(name, "mcp__")
	if len(name) < 3 || o.servers[w.server][name] || w.params[name] {
		return false
	}
	for _, sep := range []string{"__", ".", "/", ":"} {
		server, tool, ok := strings.Cut(name, sep)
		if !ok || server == "" || tool == "" {
			continue
		}
		if o.servers[server] != nil && server != w.server {
			return sep == "__" || o.servers[server][tool]
		}
		// Only ids contain two underscores, apart from some names of Python.
		if sep == "__" && len(server) >= 2 && len(tool) >= 3 && strings.Trim(server, "_") != "" && !strings.Contains(tool, "__") {
			return squash(server) != squash(w.server)
		}
	}
	if strings.ContainsAny(name, "_-") || ticked || called {
		for _, t := range o.tools[name] {
			if t.server != w.server {
				return true
			}
		}
	}
	return called && name != w.server && o.servers[name] != nil
}

// squash removes the separators from a server's name.
var squash = strings.NewReplacer("-", "", "_", "", " ", "").Replace

// imitated finds tools of other servers that this one imitates.
func (o *Others) imitated(w *walker) {
	if o == nil || w.name == "" {
		return
	}
	me, name := w.server, fold(w.name)
	shadows := false
	for _, t := range o.tools[name] {
		switch {
		case t.server == me:
		case t.name != w.name && !strings.EqualFold(t.name, w.name): // the names only look the same
			w.report.add("name", Block, "shadowing", "lookalikes")
		default:
			shadows = shadows || !sibling(me, t.server) && (similar(t.description, w.description) || typo(squash(me), squash(t.server)))
		}
	}
	for i := 3; i+1 < len(name) && len(o.servers) <= 64; i++ { // "github__create_issue" on a server that is not github
		shadows = shadows || strings.IndexByte("_-.:/", name[i]) >= 0 && name[:i] != me && o.servers[name[:i]][strings.TrimLeft(name[i:], "_-.:/")]
	}
	for n := max(4, len(name)-1); n <= len(name)+1 && len(o.tools) <= 2000; n++ { // a name that differs by one letter, with the same text
		shadows = shadows || slices.ContainsFunc(o.byLen[n], func(t otherTool) bool {
			return t.server != me && typo(name, t.folded) && !sibling(me, t.server) && similar(t.description, w.description)
		})
	}
	if shadows {
		w.report.add("name", Review, "shadowing")
	}
}

// typo reports whether two names differ by a slip: one letter added, removed or replaced, two
// swapped, or digits that look like letters; but not by a number at the end.
func typo(a, b string) bool {
	if a == b || min(len(a), len(b)) < 4 || strings.TrimRight(a, "0123456789") == strings.TrimRight(b, "0123456789") {
		return false
	}
	x, y := a, b
	for x != "" && y != "" && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for x != "" && y != "" && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return max(len(x), len(y)) == 1 || len(x) == 2 && len(y) == 2 && x[0] == y[1] && x[1] == y[0] || len(a) == len(b) && unleet(a) == unleet(b)
}

// sibling reports whether two servers are variants of one by their names, such as slack-work and
// slack-home.
func sibling(a, b string) bool {
	a, b = base(a), base(b)
	return a == b && a != ""
}

// base returns a server's name without the words that distinguish variants.
func base(s string) string {
	s = strings.NewReplacer("_", "-", " ", "-", ".", "-").Replace(s)
	for _, suffix := range lists()["clients"] {
		s = strings.TrimSuffix(s, suffix)
	}
	return strings.Join(slices.DeleteFunc(strings.Split(s, "-"), func(word string) bool { return slices.Contains(lists()["variants"], word) }), "-")
}

// similar reports whether two descriptions have nearly the same words.
func similar(a, b string) bool {
	if len(a) < 12 || len(b) < 12 {
		return false
	}
	x, y := wordSet(a), wordSet(b)
	same := 0
	for word := range y {
		if x[word] {
			same++
		}
	}
	return same == len(x) && same == len(y) || same >= 4 && same*10 >= (len(x)+len(y)-same)*8 || same >= 8 && same*10 >= len(x)*9
}

func wordSet(s string) map[string]bool {
	s = fold(s)
	set := map[string]bool{}
	for _, k := range tokens(s) {
		set[s[k.start:k.end]] = true
	}
	return set
}

// account matches a wallet, a bank account, or a phone number.
var account = lazyregexp.New(`^(?:0x[0-9a-f]{8,}|bc1[0-9a-z]{17,}|[a-z]{2}[0-9]{2}[a-z]{0,4}[0-9][0-9a-z]{9,29}|\+[0-9]{8,})$`)
