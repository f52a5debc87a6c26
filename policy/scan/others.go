package scan

import "strings"

// Others are the tools of all servers that are connected, as far as one needs
// them to see that another tool speaks about them or looks like them. The nil
// *Others knows none. It may be shared once all have been added.
type Others struct {
	tools   map[string][]otherTool // by folded name
	servers map[string]map[string]bool
	byTips  map[[2]int][]otherTool // by the length and the first letter of folded names, or the last
}

type otherTool struct{ server, folded, name, description string }

// Add adds a tool of a server.
func (o *Others) Add(server, tool, description string) {
	if o.tools == nil {
		o.tools, o.servers, o.byTips = map[string][]otherTool{}, map[string]map[string]bool{}, map[[2]int][]otherTool{}
	}
	name := fold(tool)
	server = fold(server)
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

// named returns what the name or address means that begins with word i of a text.
func (w *walker) named(t *text, i int, k token) (c class) {
	s := t.folded
	before, after := byte(' '), byte(' ')
	if k.start > 0 {
		before = s[k.start-1]
	}
	if k.end < len(s) {
		after = s[k.end]
	}
	called := i > 0 && (t.words[i-1] == "tool" || strings.HasPrefix(t.words[i-1], "call") || t.words[i-1] == "invoke") || i+1 < len(t.words) && (t.words[i+1] == "tool" || t.words[i+1] == "function") || strings.HasPrefix(s[k.end:], "()")
	ticked := before == after && strings.IndexByte("`'\"", before) >= 0
	into := i > 0 && (len(t.words[i-1]) == 2 && strings.Contains("in as to", t.words[i-1]) || t.words[i-1] == "into") || i+1 < len(t.words) && (t.words[i+1] == "parameter" || t.words[i+1] == "argument" || t.words[i+1] == "field")
	if inName[before] && before != '+' || !called && !into && !ticked && strings.IndexByte("`'\"(_-@:/.", after) < 0 && before != '`' && before != '+' && !strings.ContainsAny(t.words[i], "0123456789") {
		return 0
	}
	end := k.start
	for end < len(s) && inName[s[end]] {
		end++
	}
	name := strings.TrimRight(s[k.start:end], ".:?-")
	ticked = ticked || end < len(s) && before == s[end] && strings.IndexByte("`'\"", before) >= 0
	switch at := strings.IndexByte(name, '@'); {
	case strings.Contains(name, "://") && !strings.HasPrefix(name, "file:"), at > 0 && strings.Contains(name[at:], "."):
		c = sink
	case account(name, before == '+'):
		return sink
	}
	if strings.Contains(name, ".") && containsAny(name, collectors...) {
		c |= sink | sinkBad
	}
	if c != 0 || len(name) < 2 {
		return c
	}
	if (ticked || into) && w.params[name] {
		c = param
	}
	if w.foreign(name, ticked, called) {
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

// foreign reports whether a name, in lower case, is that of a tool of another server.
// Names that are common words count only if ticked or called marks them as tools.
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
		// Nobody else writes two underscores, except around names of Python.
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

// squash is a name of a server without separators.
var squash = strings.NewReplacer("-", "", "_", "", " ", "").Replace

// imitated finds tools of other servers that this one looks like.
func (o *Others) imitated(w *walker) {
	if o == nil || w.name == "" {
		return
	}
	me, name := w.server, fold(w.name)
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

// account reports whether a name is a wallet, a bank account or, behind a plus
// sign, a phone number.
func account(name string, plus bool) bool {
	digits, hex := 0, 0
	for i := range len(name) {
		if c := name[i]; c >= '0' && c <= '9' {
			digits++
		} else if c >= 'a' && c <= 'f' {
			hex++
		}
	}
	switch {
	case strings.HasPrefix(name, "0x") && len(name) >= 10 && digits+hex >= len(name)-1, strings.HasPrefix(name, "bc1") && len(name) >= 20:
		return true
	case plus && digits >= 8:
		return true
	case digits >= 10 && len(name) >= 15 && len(name) <= 34 && !isDigit(name[0]) && !isDigit(name[1]) && isDigit(name[2]) && isDigit(name[3]):
		return true // IBAN
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// collectors are hosts that show everybody the data that was sent to them.
var collectors = []string{"webhook.site", "requestbin", "ngrok", "interact.sh", "oast.", "burpcollaborator", "pipedream.net", "pastebin.com", "transfer.sh", "file.io", "0x0.st",
	"discord.com/api/webhooks", "api.telegram.org/bot", "requestcatcher", "beeceptor", "hookbin", "dnslog", "canarytokens", "trycloudflare.com", "localtunnel", "serveo.net", "ix.io", "termbin", ".onion"}
