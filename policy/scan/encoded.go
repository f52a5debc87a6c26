package scan

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// encoded looks into what is encoded in s: base64, hexadecimal and binary digits, escapes,
// entities, invisible characters, and text that is said to be rotated or reversed. u is
// what is invisible in it.
func (w *walker) encoded(s, folded string, u unseen, depth int) (found kind) {
	inner := func(plain string, sure bool) {
		if plain == "" || plain == s {
			return
		}
		more, _ := w.kinds(plain, odd, depth+1)
		if more&^(outOfSight|hints) != 0 || more&(aPath|aCommand|aCollector) != 0 {
			found |= encoded | more | unseenChars
		} else if sure && instructs(w.read(plain, odd)) {
			found |= encoded
		}
	}
	inner(u.decoded, false)
	for run := range runs(s) {
		inner(decodeRun(run), true)
	}
	if strings.Count(s, "0")+strings.Count(s, "1") >= 40 {
		inner(decodeBits(binary().FindString(s)), true)
	}
	if pairs(s) {
		inner(decodeRun(strings.NewReplacer(" ", "", ":", "", "0x", "", ",", "", "\\x", "").Replace(hexBytes().FindString(s))), true)
	}
	if strings.Contains(s, "&#") {
		inner(html.UnescapeString(s), false)
	}
	if n := strings.Count(s, "%"); n >= 6 {
		if plain, err := url.PathUnescape(s); err == nil && n-strings.Count(plain, "%") >= 6 {
			inner(plain, false)
		}
	}
	if strings.Count(s, `\u00`)+strings.Count(s, `\x`) >= 4 {
		inner(escapes().ReplaceAllStringFunc(s, func(e string) string {
			b, _ := hex.DecodeString(e[len(e)-2:])
			return string(rune(b[0]))
		}), false)
	}
	if containsAny(folded, "rot13", "rot-13", "caesar") {
		inner(strings.Map(rot13, s), false)
	}
	if containsAny(folded, "revers", "backward") || strings.Contains(s, "\u202e") {
		list := []rune(s)
		slices.Reverse(list)
		inner(string(list), false)
	}
	if depth > 0 {
		found &^= unseenChars // the outer text says so
	}
	return found
}

// instructs reports whether a text that was decoded is a sentence with words of
// instructions.
func instructs(t *text) bool {
	return len(t.words) >= 4 && t.all&(neg|tell|ignore|orders|send|read|call|do|talk|creds|must|user|param) != 0
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

// runs yields the parts of s that may be base64 or hexadecimal: of 16 characters or more,
// with a capital letter or of hexadecimal digits only.
func runs(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start, hexOnly, capital := 0, true, false
		for i := 0; i <= len(s); i++ {
			if i < len(s) && inCode[s[i]] {
				hexOnly = hexOnly && isHex(s[i])
				capital = capital || s[i] >= 'A' && s[i] <= 'Z'
				continue
			}
			if i-start >= 16 && (hexOnly || capital) && !yield(strings.TrimRight(s[start:i], "=")) {
				return
			}
			start, hexOnly, capital = i+1, true, false
		}
	}
}

var inCode = func() (t [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-" {
		t[c] = true
	}
	return t
}()

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// pairs reports whether s has eight pairs of hexadecimal digits apart from each other.
func pairs(s string) bool {
	n := 0
	for i := 0; i+1 < len(s); i++ {
		if isHex(s[i]) && isHex(s[i+1]) && (i == 0 || !isHex(s[i-1])) && (i+2 == len(s) || !isHex(s[i+2])) {
			n++
		}
	}
	return n >= 8
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

// piped reports whether a text has a command that runs what it downloads or
// decodes, or opens a shell to another machine.
func piped(s string) bool {
	if strings.Contains(s, "|") && containsAny(s, "curl", "wget", "base64 ", "iwr", "irm ", "invoke-", "xxd ", "openssl", "fetch ", "echo ") && pipe().MatchString(s) {
		return true
	}
	if containsAny(s, "curl", "wget", "eval", "iex") && substituted().MatchString(s) {
		return true
	}
	return strings.Contains(s, "/dev/tcp/") || strings.Contains(s, "nc -e") || strings.Contains(s, "ncat -e") || strings.Contains(s, "downloadstring(") && strings.Contains(s, "iex") ||
		(strings.Contains(s, "powershell") && (strings.Contains(s, " -enc ") || strings.Contains(s, "-encodedcommand"))) ||
		strings.Contains(s, "curl") && strings.Contains(s, "@") && posted().MatchString(s)
}

// intoShell reports whether the output of a command is run.
func intoShell(s string) bool {
	return strings.Contains(s, "|") && anyShell().MatchString(s)
}

func containsAny(s string, list ...string) bool {
	for _, w := range list {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

var (
	anyShell = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\S \|\s*(?:sudo )?(?:ba|z)?sh(?:\s|$|[.;)"'` + "`" + `])`)
	})
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

// drains reports whether a text has an address into which the conversation, keys or the
// environment are to be filled, such as https://host/?q={conversation}.
func drains(w *walker, s string) bool {
	if !strings.Contains(s, "://") || !strings.ContainsAny(s, "${<%[") {
		return false
	}
	for _, m := range template().FindAllStringSubmatch(s, 20) {
		c := w.read(spaces(m[2]), odd).all
		if c&(creds|environ|path) != 0 || c&(talk|filled) != 0 && strings.ContainsAny(m[1], "?=") {
			return true
		}
	}
	return false
}

var template = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(https?://[^\s"'<]*?)(?:\$\{?|\{\{?|<|%7b|\[|%)\s*([a-z][a-z0-9_.' -]{2,40})`)
})

var spaces = strings.NewReplacer(".", " ", "_", " ", "-", " ").Replace

// commented reports whether a comment of HTML or Markdown, or an element that is not shown,
// has three words of an instruction.
func (w *walker) commented(s string) bool {
	if !strings.ContainsAny(s, "<[") {
		return false
	}
	for _, c := range [][2]string{{"<!--", "-->"}, {"[//]: #", "\n"}, {"[comment]: #", "\n"}, {"display:none", "</"}, {"display: none", "</"}, {"font-size:0", "</"}, {"visibility:hidden", "</"}, {"<details>", "</details>"}} {
		for _, rest := range strings.SplitAfter(s, c[0])[1:] {
			inside, _, _ := strings.Cut(rest, c[1])
			n := 0
			for _, h := range w.read(inside, odd).hits {
				if h.class&(must|neg|read|send|put|call|ai|orders|path|creds|tell|ignore|user|talk|other|sink|command) != 0 {
					n++
				}
			}
			if n >= 3 {
				return true
			}
		}
	}
	return false
}
