package scan

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// payload looks into what is encoded in s: base64, hexadecimal and binary
// digits, escapes, entities, tag characters, and text that is said to be rotated
// or reversed.
func (w *walker) payload(s string, t *text, u unseen, f features, depth int) signal {
	var found signal
	inner := func(plain string, sure bool) {
		if plain == "" || plain == s {
			return
		}
		more, t := w.signals(plain, featuresOf(plain), odd, depth+1)
		switch {
		case more&(strong|unseenChars|shell)&^outOfSight != 0, more&(aPath|aCommand|aCollector) != 0:
			found |= encoded | more | unseenChars
		case sure && prosaic(plain) && len(t.hits) > 0:
			found |= encoded
		}
	}
	if u.decoded != "" {
		inner(u.decoded, false)
	}
	if f.run {
		for run := range encodedRuns(s) {
			inner(decodeRun(run), true)
		}
	}
	if f.bits >= 40 {
		inner(decodeBits(binary().FindString(s)), true)
	}
	if f.pairs >= 8 {
		if m := hexBytes().FindString(s); m != "" {
			inner(decodeRun(strings.NewReplacer(" ", "", ":", "", "0x", "", ",", "", "\\x", "").Replace(m)), true)
		}
	}
	if f.entity {
		inner(html.UnescapeString(s), false)
	}
	if f.percents >= 6 {
		if plain, err := url.PathUnescape(s); err == nil && strings.Count(s, "%")-strings.Count(plain, "%") >= 6 {
			inner(plain, false)
		}
	}
	if f.escapes >= 4 {
		inner(escapes().ReplaceAllStringFunc(s, func(e string) string {
			b, _ := hex.DecodeString(e[len(e)-2:])
			return string(rune(b[0]))
		}), false)
	}
	if t.all&coded != 0 && containsAny(t.folded, "rot13", "rot-13", "caesar") {
		inner(strings.Map(rot13, s), false)
	}
	if t.all&coded != 0 && containsAny(t.folded, "revers", "backward") || f.unseen && strings.Contains(s, "\u202e") {
		inner(reversed(s), false)
	}
	if depth > 0 {
		found &^= unseenChars // the outer text says so
	}
	return found
}

var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\u00[0-9a-fA-F]{2}|\\x[0-9a-fA-F]{2}`) })

func rot13(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case r >= 'A' && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}

func reversed(s string) string {
	list := []rune(s)
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return string(list)
}

// features are the possible contents of a text, so that other searches can be skipped.
type features struct {
	run      bool // 16 characters of base64 or hexadecimal digits
	entity   bool // &#
	unseen   bool // control characters, and what is neither ASCII nor typographic
	singles  bool // letters that stand alone, six in a row
	blanks   bool // many blanks or newlines in a row
	address  bool // ://
	pipe     bool // |
	bracket  bool // < or [
	bits     int
	pairs    int
	percents int
	escapes  int
}

func featuresOf(s string) (f features) {
	single, blank := 0, 0
	for i := 0; i < len(s); {
		c := s[i]
		if codeOf[c] == 0 {
			switch c {
			case ' ', '\n', '\t', '\r':
				blank++
				i++
				continue
			case '%':
				f.percents++
			case '\\':
				if i+1 < len(s) && (s[i+1] == 'u' || s[i+1] == 'x') {
					f.escapes++
				}
			case '#':
				f.entity = f.entity || i > 0 && s[i-1] == '&'
			case ':':
				f.address = f.address || strings.HasPrefix(s[i:], "://")
			case '|':
				f.pipe = true
			case '<', '[':
				f.bracket = true
			default:
				if c < ' ' || c == 0x7f {
					f.unseen = true
				} else if c >= utf8.RuneSelf {
					r, size := utf8.DecodeRuneInString(s[i:])
					f.unseen = f.unseen || typographic(r) == 0
					i += size - 1
				}
			}
			blank = 0
			i++
			continue
		}
		f.blanks = f.blanks || blank >= 20
		blank = 0
		start, of := i, uint8(0)
		for ; i < len(s) && codeOf[s[i]] != 0; i++ {
			of |= codeOf[s[i]]
		}
		if of&binaryCode != 0 {
			f.bits += strings.Count(s[start:i], "0") + strings.Count(s[start:i], "1")
		}
		switch n := i - start; {
		case n == 1:
			single++
			f.singles = f.singles || single >= 6
			continue
		case n == 2 && of&otherCode == 0:
			f.pairs++
		case n >= 16 && (of&upperCode != 0 || of&otherCode == 0):
			f.run = true
		}
		single = 0
	}
	return f
}

// What a character of base64 says.
const (
	hexCode    = 1 << iota // a hexadecimal digit
	otherCode              // none
	upperCode              // a capital letter
	binaryCode             // 0 or 1
)

var codeOf = func() (t [256]uint8) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-" {
		t[c] = otherCode
		if isHex(byte(c)) {
			t[c] = hexCode
		}
		if c >= 'A' && c <= 'Z' {
			t[c] |= upperCode
		}
	}
	t['0'] |= binaryCode
	t['1'] |= binaryCode
	return t
}()

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// encodedRuns yields the runs of s that may be base64 or hexadecimal: of 16 characters
// or more.
func encodedRuns(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		for i := 0; i <= len(s); i++ {
			if i < len(s) && codeOf[s[i]] != 0 {
				continue
			}
			if i-start >= 16 && !yield(strings.TrimRight(s[start:i], "=")) {
				return
			}
			start = i + 1
		}
	}
}

var (
	binary   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:[01]{8}[ ,]?){5,}`) })
	hexBytes = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:(?:0x)?[0-9a-fA-F]{2}[ ,:]+){7,}(?:0x)?[0-9a-fA-F]{2}\b`)
	})
)

// decodeRun returns the text that a run is the code of, or "".
func decodeRun(run string) string {
	if strings.Trim(run, "01 ,") == "" && len(run) >= 40 {
		return decodeBits(run)
	}
	if len(run)%2 == 0 {
		if b, err := hex.DecodeString(run); err == nil {
			return legible(b)
		}
	}
	if !strings.ContainsFunc(run, unicode.IsUpper) {
		return "" // a name
	}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if b, err := e.DecodeString(run); err == nil {
			return legible(b)
		}
	}
	if n := len(run) &^ 3; n < len(run) && n >= 16 {
		if b, err := base64.RawStdEncoding.DecodeString(run[:n]); err == nil {
			return legible(b)
		}
	}
	return ""
}

func decodeBits(s string) string {
	var out []byte
	n, c := 0, byte(0)
	for i := range len(s) {
		if s[i] != '0' && s[i] != '1' {
			continue
		}
		c = c<<1 | s[i]&1
		if n++; n == 8 {
			out = append(out, c)
			n, c = 0, 0
		}
	}
	return legible(out)
}

// legible returns b if it is text.
func legible(b []byte) string {
	if len(b) < 8 || !utf8.Valid(b) {
		// Perhaps UTF-16.
		return wide(b)
	}
	for _, r := range string(b) {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == utf8.RuneError {
			return wide(b)
		}
	}
	return string(b)
}

func wide(b []byte) string {
	var out []byte
	for i := 0; i+1 < len(b); i += 2 {
		if b[i+1] != 0 || b[i] < ' ' || b[i] > '~' {
			return ""
		}
		out = append(out, b[i])
	}
	if len(out) < 8 {
		return ""
	}
	return string(out)
}

// prosaic reports whether s looks like a sentence of at least four words.
func prosaic(s string) bool {
	n := 0
	for w := range strings.FieldsSeq(s) {
		w = strings.Trim(w, ".,:;!?()\"'")
		if w != "" && !strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '-' }) {
			n++
		}
	}
	return n >= 4
}

// piped reports whether a text has a command that runs what it downloads or
// decodes, or opens a shell to another machine.
func piped(s string) bool {
	if strings.Contains(s, "|") && shellBehind(s) && containsAny(s, "curl", "wget", "base64 ", "iwr", "irm ", "invoke-", "xxd ", "openssl", "fetch ", "echo ") && pipe().MatchString(s) {
		return true
	}
	if containsAny(s, "curl", "wget", "eval", "iex") && substituted().MatchString(s) {
		return true
	}
	return strings.Contains(s, "/dev/tcp/") || strings.Contains(s, "nc -e") || strings.Contains(s, "ncat -e") || strings.Contains(s, "downloadstring(") && strings.Contains(s, "iex") ||
		(strings.Contains(s, "powershell") && (strings.Contains(s, " -enc ") || strings.Contains(s, "-encodedcommand"))) ||
		strings.Contains(s, "curl") && strings.Contains(s, "@") && posted().MatchString(s)
}

// shellBehind reports whether a program that may run its input follows a "|".
func shellBehind(s string) bool {
	for {
		_, rest, ok := strings.Cut(s, "|")
		if !ok {
			return false
		}
		s = rest
		const blanks = " \t\n\f\r"
		rest = strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(rest, blanks), "sudo"), blanks)
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, "/usr"), "/bin/")
		for _, p := range [...]string{"sh", "bash", "zsh", "dash", "ksh", "fish", "python", "perl", "ruby", "node", "iex", "php", "pwsh", "powershell", "cmd"} {
			if strings.HasPrefix(rest, p) {
				return true
			}
		}
	}
}

// intoShell matches a command whose output is run.
var intoShell = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\S \|\s*(?:sudo )?(?:ba|z)?sh(?:\s|$|[.;)"'` + "`" + `])`)
})

func containsAny(s string, list ...string) bool {
	for _, w := range list {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

var (
	pipe = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:\b(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod)\b|base64\s+(?:-d|-di|--decode)|xxd\s+-r|openssl\s+enc|echo\s+\S{16,})[^|]{0,300}(?:\|[^|]{0,80}){0,2}\|\s*(?:sudo\s+)?(?:/(?:usr/)?bin/)?(?:ba|z|da|k|fi)?(?:sh|python3?|perl|ruby|node|iex|php|pwsh|powershell|cmd)\b`)
	})
	substituted = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?:(?:ba|z|da)?sh\\s+(?:-c\\s+)?[\"']?(?:\\$\\(|<\\(|`)\\s*(?:curl|wget)|eval\\s+[\"']?(?:\\$\\(|`)|source\\s+<\\(\\s*(?:curl|wget)|\\$\\(\\s*(?:curl|wget)\\s[^)]*\\)|\\biex\\b[\\s(]*(?:\\(|&)?\\s*(?:new-object|iwr|irm|invoke-))")
	})
	posted = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`curl\s[^\n]{0,120}(?:-d|--data(?:-binary|-raw)?|-f|-t|--form|--upload-file)\s*["']?[^\s"']*@?[~/.][^\n]{0,120}https?://|curl\s[^\n]{0,160}https?://\S+\s[^\n]{0,60}(?:-d|--data(?:-binary)?|-f)\s*["']?\S*@[~/.]`)
	})
)

// drains reports whether a text has an address into which the conversation, keys
// or the environment are to be filled.
func drains(s string) bool {
	for {
		i := strings.Index(s, "://")
		if i < 0 {
			return false
		}
		end := i + 3
		for end < len(s) && s[end] > ' ' && s[end] != '"' && s[end] != '\'' && strings.IndexByte("${<%[", s[end]) < 0 {
			end++
		}
		if end < len(s) && strings.IndexByte("${<%[", s[end]) >= 0 {
			window := s[max(0, i-5):min(len(s), end+50)]
			if m := template().FindStringSubmatch(window); m != nil {
				if c := theLexicon().filled(m[2]); c&(creds|environ|path) != 0 || c != 0 && strings.ContainsAny(m[1], "?=") {
					return true
				}
			}
			end++
		}
		if end < len(s) && s[end-1] != '/' && strings.HasPrefix(s[end-1:], "://") {
			end--
		}
		s = s[end:]
	}
}

var template = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(https?://[^\s"'<]*?)(?:\$\{?|\{\{?|<|%7b|\[|%)\s*([a-z][a-z0-9_.' -]{2,40})`)
})

var spaces = strings.NewReplacer(".", " ", "_", " ", "-", " ").Replace

// filled returns the class of a placeholder's name, or 0 if it is neither that of a
// conversation nor of keys nor of the environment.
func (l *lexicon) filled(name string) class {
	name = spaces(name)
	for i := range len(name) {
		if i > 0 && name[i-1] != ' ' {
			continue
		}
		if c, _ := l.match(name, i); c&(talk|creds|environ|path) != 0 {
			return c
		}
	}
	for _, w := range []string{"history", "prompt", "messages", "env", "secret", "chat", "memory", "file content", "user data", "userdata", "answer", "everything", "file"} {
		if name == w || strings.HasPrefix(name, w+" ") || strings.HasSuffix(name, " "+w) {
			return talk
		}
	}
	return 0
}

// commented reports whether a comment of HTML or Markdown, or an element that is
// not shown, has words of an instruction.
func (t *text) commented() bool {
	s := t.folded
	for _, c := range [][2]string{{"<!--", "-->"}, {"[//]: #", "\n"}, {"[comment]: #", "\n"}, {"display:none", "</"}, {"display: none", "</"}, {"font-size:0", "</"}, {"visibility:hidden", "</"}, {"<details>", "</details>"}} {
		for from := 0; ; {
			i := strings.Index(s[from:], c[0])
			if i < 0 {
				break
			}
			start := from + i + len(c[0])
			end := len(s)
			if j := strings.Index(s[start:], c[1]); j >= 0 {
				end = start + j
			}
			n := 0
			for _, h := range t.hits {
				if h.pos >= start && h.pos < end && h.class&(must|neg|read|send|put|call|ai|orders|path|creds|tell|ignore|user|talk|other|sink|command) != 0 {
					n++
				}
			}
			if n >= 3 || n == 2 && len(strings.Fields(s[start:end])) <= 8 {
				return true
			}
			from = end
		}
	}
	return false
}
