package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A hit is a word or phrase of the lexicon in a text.
type hit struct {
	class    class
	word     int // which word of the text
	sentence int
	pos, end int
	quoted   bool // between quotes or backticks, in brackets after "such as"
	base     bool // at the beginning of the text, as a verb that describes the tool
}

// A text is what has been found in one string.
type text struct {
	folded string
	hits   []hit
	all    class // of all hits
	scope  *scope
	place  place
	chatty bool // the tool is about conversations
	params bool // look for parameters of the tool
}

// A scope is what the names in a text may mean.
type scope struct {
	server string
	schema string          // inputSchema of the tool
	params map[string]bool // its properties, once they have been asked for
	own    map[string]bool // tools of the same server
	others *Others
}

// What a byte may begin; what is none of these separates words.
const (
	kindOther = iota
	kindWord
	kindQuote
	kindOpen
	kindClose
	kindDot // also of paths
	kindStop
	kindLine
	kindWide
	kindMark
)

var kindOf = func() (t [256]uint8) {
	for c := range t {
		switch c := byte(c); {
		case isWord(c):
			t[c] = kindWord
		case c >= utf8.RuneSelf:
			t[c] = kindWide
		}
	}
	for kind, list := range []string{kindQuote: "`\"'", kindOpen: "(", kindClose: ")", kindDot: "./\\", kindStop: "!?;", kindLine: "\n", kindMark: "[<#{"} {
		for _, c := range list {
			t[c] = uint8(kind)
		}
	}
	return t
}()

// tokens finds the hits in folded text.
func (t *text) tokens() {
	l := theLexicon()
	s := t.folded
	word, sentence := 0, 0
	quote := byte(0)
	bracket := 0
	for i := 0; i < len(s); {
		c := s[i]
		switch kindOf[c] {
		case kindOther:
			i++
		case kindWord:
			start := i
			found, end := l.match(s, i)
			for i < len(s) && (kindOf[s[i]] == kindWord || s[i] == '\'' && shortEnding(s[i+1:])) {
				i++
			}
			if i < len(s) && s[i] >= utf8.RuneSelf { // a letter with more than ASCII has
				i = endOfWord(s, i)
			}
			if found == 0 && i-start >= 4 && mixed(s[start:i]) {
				if plain := unleet(s[start:i]); !strings.ContainsAny(plain, "0123456789") {
					if found, _ = l.match(plain, 0); found != 0 {
						end = i
					}
				}
			}
			if t.named(start, i) && (start == 0 || identOf[s[start-1]] == 0 || s[start-1] == '+') {
				name, nameEnd, signs := ident(s, start)
				found |= t.name(name, start, nameEnd, signs)
				if found&(sink|other|number|param) != 0 {
					end = max(end, nameEnd)
				}
			}
			if found != 0 {
				t.add(hit{found, word, sentence, start, max(end, i), quote != 0 || bracket > 0, word < 2 && sentence == 0})
			}
			word++
		case kindQuote:
			if c != '\'' || i == 0 || !isWord(s[i-1]) || quote == c {
				switch quote {
				case 0:
					quote = c
				case c:
					quote = 0
				}
			}
			i++
		case kindOpen:
			bracket++
			i++
		case kindClose:
			bracket = max(bracket-1, 0)
			i++
		case kindDot:
			if i == 0 || !isWord(s[i-1]) {
				if found, end := l.match(s, i); found != 0 {
					t.add(hit{found, word, sentence, i, end, quote != 0 || bracket > 0, false})
				}
			}
			i++
			if c == '.' && ends(s, i) {
				sentence++
				quote = 0
			}
		case kindStop:
			i++
			if ends(s, i) {
				sentence++
			}
		case kindLine:
			for i < len(s) && (s[i] == '\n' || s[i] == '\r' || s[i] == ' ' || s[i] == '\t') {
				if s[i] == '\n' && i > 0 && strings.HasPrefix(s[i+1:], "\n") {
					sentence++
				}
				i++
			}
			if i < len(s) && (s[i] == '-' || s[i] == '*' || s[i] == '#') {
				sentence++
			}
			quote = 0
		case kindWide:
			r, size := utf8.DecodeRuneInString(s[i:])
			start := i == 0 || !isWord(s[i-1])
			found, end := l.matchWide(s, i, r, start)
			if found != 0 {
				t.add(hit{found, word, sentence, i, end, quote != 0, false})
			}
			switch {
			case !unicode.IsLetter(r):
				i += size
			case dense(r):
				i = max(i+size, end)
				word++
			default:
				i = endOfWord(s, i)
				word++
			}
		case kindMark:
			if n := marker(s[i:]); n > 0 {
				t.add(hit{mark, word, sentence, i, i + n, quote != 0 || bracket > 0, false})
			}
			i++
		}
	}
}

// shortEnding reports whether s, which follows an apostrophe, begins with the
// ending of a word, as in "don't" or "user's", not with a word as in "l'ami".
func shortEnding(s string) bool {
	n := 0
	for n < len(s) && n < 3 && isWord(s[n]) {
		n++
	}
	return n == 1 || n == 2
}

func (t *text) add(h hit) {
	if h.class&talk != 0 && h.end < len(t.folded) && precedes(t.folded[h.end:], " id", "_id", "-id", "id", " name", " title", " uuid", " key", " type", " setting", " ref", " link", " url", " number", " count", " thread", " model") {
		h.class &^= talk // "conversation id"
	}
	t.hits = append(t.hits, h)
	t.all |= h.class
}

func ends(s string, i int) bool {
	return i >= len(s) || s[i] == ' ' || s[i] == '\n' || s[i] == '"' || s[i] == '\'' || s[i] == ')' || s[i] == '<' || s[i] == '\t' || s[i] == '\r'
}

func endOfWord(s string, i int) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !isLetter(r) || r == '_' || dense(r) {
			if size > 0 && r == utf8.RuneError && size == 1 {
				i++
			}
			break
		}
		i += size
	}
	return i
}

// dense reports whether r is of a script that puts no blanks between words.
func dense(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// mixed reports whether a word has both letters and digits.
func mixed(w string) bool {
	letters, digits := 0, 0
	for i := range len(w) {
		if w[i] <= '9' {
			digits++
		} else {
			letters++
		}
	}
	return digits > 0 && letters > digits
}

// Signs that say what a name may be.
const (
	inName   = 1 << iota // any byte of one
	hasDot               // "."
	hasDash              // "_" and "-"
	hasSlash             // "/" and ":"
	hasAt                // "@"
	hasDigit
)

// identOf classifies bytes that are part of a name, an address or a URL.
var identOf = func() (t [256]uint8) {
	for c := range t {
		if isWord(byte(c)) {
			t[c] = inName
		}
	}
	for _, c := range "+%?=&{}$" {
		t[c] = inName
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = inName | hasDigit
	}
	t['.'], t['_'], t['-'], t['/'], t[':'], t['@'] = inName|hasDot, inName|hasDash, inName|hasDash, inName|hasSlash, inName|hasSlash, inName|hasAt
	return t
}()

// ident returns the name, address or URL that begins at i, where it ends, and
// the signs in it.
func ident(s string, i int) (name string, end int, signs uint8) {
	j := i
	for j < len(s) && identOf[s[j]] != 0 {
		signs |= identOf[s[j]]
		j++
	}
	for j > i && (s[j-1] == '.' || s[j-1] == ':' || s[j-1] == '?' || s[j-1] == '-') {
		j--
	}
	return s[i:j], j, signs
}

// named reports whether the word from start to end may be a name: it continues with
// characters of names, is quoted, or is next to a word that introduces names.
func (t *text) named(start, end int) bool {
	s := t.folded
	if end < len(s) {
		switch s[end] {
		case '_', '-', '@', ':', '/', '.':
			if end+1 < len(s) && s[end+1] > ' ' {
				return true
			}
		case '`', '\'', '"', '(':
			return true
		case ' ':
			if end+2 < len(s) && (s[end+1] == 't' && s[end+2] == 'o' || s[end+1] == 'f' && s[end+2] == 'u' || s[end+1] == 'p' && s[end+2] == 'a') {
				return true
			}
		}
	}
	if start >= 3 && s[start-1] == ' ' {
		switch s[start-2] {
		case 'l': // tool, call
			if s[start-3] == 'l' || s[start-3] == 'o' {
				return true
			}
		case 'n', 's', 'o', 'a': // in, as, into, via, to
			if t.params && (start < 6 || s[start-4] == ' ' || s[start-5] == ' ' || s[start-6] == ' ') {
				return true
			}
		}
	}
	return start > 0 && (s[start-1] == '`' || s[start-1] == '+') || end-start >= 10 && isDigit(s[end-1]) || end-start >= 10 && s[start] == '0'
}

// name returns what a name in the text means.
func (t *text) name(name string, start, end int, signs uint8) class {
	var c class
	s := t.folded
	ticked := start > 0 && (s[start-1] == '`' || s[start-1] == '\'' || s[start-1] == '"') && end < len(s) && s[end] == s[start-1]
	if len(name) >= 5 && signs&(hasDot|hasSlash|hasAt|hasDigit) != 0 {
		if signs&hasSlash != 0 && strings.Contains(name, "://") && !strings.HasPrefix(name, "file:") {
			c |= sink
			if collects(name) {
				c |= sinkBad
			}
		} else if at := strings.IndexByte(name, '@'); at > 0 && strings.Contains(name[at:], ".") {
			c |= sink
		} else if signs&hasDigit != 0 && account(name, start > 0 && s[start-1] == '+') {
			c |= number
		} else if signs&hasDot != 0 && collects(name) {
			c |= sink | sinkBad
		}
	}
	if t.scope == nil || c != 0 {
		return c
	}
	if t.params && (ticked || follows(s[:start], "in ", "as ", "into ", "via ", "to ", "through ", "inside ", "the ", "called ", "named ", "under ") &&
		precedes(s[end:], " param", " field", " arg", ".", ",", " and", " value", " (", ";")) && t.scope.param(name) {
		c |= param
	}
	if t.scope.foreign(name, ticked, end < len(s) && precedes(s[end:], " tool", "` tool", "' tool", " function", "()") || follows(s[:start], "tool ", "tool `", "tool '", "call ", "call `")) {
		c |= other
	}
	return c
}

func follows(s string, ends ...string) bool {
	for _, e := range ends {
		if strings.HasSuffix(s, e) {
			return true
		}
	}
	return false
}

func precedes(s string, begins ...string) bool {
	if s == "" {
		return true
	}
	for _, b := range begins {
		if strings.HasPrefix(s, b) {
			return true
		}
	}
	return false
}

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

func collects(name string) bool {
	if strings.IndexByte(name, '.') < 0 {
		return false
	}
	for _, c := range collectors {
		if strings.Contains(name, c) {
			return true
		}
	}
	return false
}

// markers are how texts pretend that somebody else than the server speaks.
var markers = []string{"<|im_start|>", "<|im_end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|endoftext|>", "<|start_header_id|>", "<|begin", "<<sys>>", "[inst]", "[/inst]", "[system]", "[system ", "[system:",
	"[admin]", "[override]", "[hidden]", "[assistant]", "[internal]", "[instructions]", "[priority", "<important>", "<important ", "<system>", "<system ", "<system-", "<system_", "<instruction", "<secret>", "<hidden>", "<admin>", "<assistant", "<priority", "<critical>", "<override>", "<developer>",
	"<llm", "<ai>", "<ai-", "<ai_", "<agent>", "<agent-", "<agent_", "<prompt>", "<thinking>", "<must", "<rules>", "<policy>", "<directive", "<note_to", "<note-to", "<internal", "<mandatory", "<sudo", "### instruction", "### system", "## system", "# system prompt", "###system", "### assistant", "### new task",
	"<untrusted", "{{#system", "{{system", "<|", "<human>", "<preamble"}

func marker(s string) int {
	for _, m := range markers {
		if strings.HasPrefix(s, m) {
			return len(m)
		}
	}
	return 0
}
