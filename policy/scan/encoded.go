package scan

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

var (
	escapes = lazyregexp.New(`\\u00[0-9a-fA-F]{2}|\\x[0-9a-fA-F]{2}`)
	// template is an address with a placeholder, such as https://host/?q={conversation}.
	template = lazyregexp.New(`\b(https?://[^\s"'<]*?)(?:\$\{?|\{\{?|<|%7b|\[|%)\s*([a-z][a-z0-9_.' -]{2,40})`)
	// hiding matches parts of HTML or Markdown that are not displayed.
	hiding = lazyregexp.New(`(?s)<!--(.*?)(?:-->|$)|\[(?://|comment)\]: #([^\n]*)|(?:display: ?none|font-size:0|visibility:hidden)(.*?)(?:</|$)|<details>(.*?)(?:</details>|$)`)
	// runs matches commands that run what they download or decode, open a shell to another
	// machine, or send a file away.
	runs = lazyregexp.New(`(?:\b(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod)\b|base64\s+(?:-d|-di|--decode)|xxd\s+-r|openssl\s+enc|echo\s+\S{16,})[^|]{0,300}(?:\|[^|]{0,80}){0,2}\|\s*(?:sudo\s+)?(?:/(?:usr/)?bin/)?(?:ba|z|da|k|fi)?(?:sh|python3?|perl|ruby|node|iex|php|pwsh|powershell|cmd)\b` +
		"|(?:ba|z|da)?sh\\s+(?:-c\\s+)?[\"']?(?:\\$\\(|<\\(|`)\\s*(?:curl|wget)|eval\\s+[\"']?(?:\\$\\(|`)|source\\s+<\\(\\s*(?:curl|wget)|\\$\\(\\s*(?:curl|wget)\\s[^)]*\\)|\\biex\\b[\\s(]*(?:\\(|&)?\\s*(?:new-object|iwr|irm|invoke-)" +
		`|/dev/tcp/|\bn(?:c|cat) -e|iex.*downloadstring\(|downloadstring\(.*iex|powershell.* -(?:enc|encodedcommand) ` +
		`|curl\s[^\n]{0,120}(?:-d|--data(?:-binary|-raw)?|-f|-t|--form|--upload-file)\s*["']?[^\s"']*@?[~/.][^\n]{0,120}https?://|curl\s[^\n]{0,160}https?://\S+\s[^\n]{0,60}(?:-d|--data(?:-binary)?|-f)\s*["']?\S*@[~/.]`)
	anyShell = lazyregexp.New(`\S \|\s*(?:sudo )?(?:ba|z)?sh(?:\s|$|[.;)"'` + "`])")
)

// shells reports whether a text contains a command that runs what it downloads, and whether it
// contains one whose output is run.
func shells(s string) (sure, any bool) {
	if (containsAny(s, "curl", "wget", "iex", "eval \"", "eval $", "eval `", "/dev/tcp/", "nc -e", "ncat -e", "powershell", "source <") ||
		strings.Contains(s, "|") && containsAny(s, "base64 ", "iwr", "irm ", "invoke-", "xxd ", "openssl", "fetch ", "echo ")) && runs.MatchString(s) {
		return true, false
	}
	return false, strings.Contains(s, "|") && anyShell.MatchString(s)
}

func containsAny(s string, list ...string) bool {
	return slices.ContainsFunc(list, func(w string) bool { return strings.Contains(s, w) })
}

// drains reports whether an address is to be filled with the conversation, keys or the
// environment.
func (w *walker) drains(s string) bool {
	if !strings.Contains(s, "://") || !strings.ContainsAny(s, "${<%[") {
		return false
	}
	return slices.ContainsFunc(template.FindAllStringSubmatch(s, 20), func(m []string) bool {
		c := w.read(split(m[2]), odd).all
		return c&(creds|environ|path) != 0 || c&filled != 0 && strings.ContainsAny(m[1], "?=")
	})
}

// commented reports whether hidden parts contain three words of an instruction.
func (w *walker) commented(s string) bool {
	if !strings.ContainsAny(s, "<[:") || !containsAny(s, "<!--", "]: #", "display:", "font-size:0", "visibility:", "<details>") {
		return false
	}
	return slices.ContainsFunc(hiding.FindAllStringSubmatch(s, 20), func(m []string) bool {
		n := 0
		for _, h := range w.read(strings.Join(m[1:], ""), odd).hits {
			n += min(1, int(h.class&instructing))
		}
		return n >= 3
	})
}

// encodings are ways to encode a text: a quick test for texts that may be encoded, a pattern of
// the encoded part (nil for all), and the decoder. An encoded sentence is suspicious if sure is
// set.
var encodings = []struct {
	may    func(s, folded string) bool
	like   *lazyregexp.Regexp
	decode func(match string) string
	sure   bool
}{
	{func(s, _ string) bool { return longest(s, codes) >= 16 }, lazyregexp.New(`[A-Za-z0-9+/_-]{16,}`), decode, true},
	{func(s, _ string) bool { return longest(s, "01 ,") >= 40 }, lazyregexp.New(`(?:[01]{8}[ ,]?){5,}`), decode, true},
	{func(s, _ string) bool { return longest(s, "0123456789abcdefABCDEFx ,:") >= 23 }, lazyregexp.New(`\b(?:(?:0x)?[0-9a-fA-F]{2}[ ,:]+){7,}(?:0x)?[0-9a-fA-F]{2}\b`), decode, true},
	{func(s, _ string) bool { return strings.Contains(s, "&#") }, nil, html.UnescapeString, false},
	{func(s, _ string) bool { return strings.Count(s, "%") >= 6 }, nil, func(s string) string { plain, _ := url.PathUnescape(s); return plain }, false},
	{func(s, _ string) bool { return strings.Count(s, `\`) >= 4 }, nil, func(s string) string {
		return escapes.ReplaceAllStringFunc(s, func(e string) string {
			b, _ := hex.DecodeString(e[len(e)-2:])
			return string(rune(b[0]))
		})
	}, false},
	{func(s, folded string) bool { return containsAny(folded, "rot13", "rot-13", "caesar") }, nil, func(s string) string { return strings.Map(rot13, s) }, false},
	{func(s, folded string) bool {
		return containsAny(folded, "revers", "backward") || strings.Contains(s, "\u202e")
	}, nil, func(s string) string {
		list := []rune(s)
		slices.Reverse(list)
		return string(list)
	}, false},
}

const codes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-"

// longest returns the length of the longest part of s that consists of the given bytes.
func longest(s, of string) (most int) {
	var in [256]bool
	for i := range len(of) {
		in[of[i]] = true
	}
	n := 0
	for i := range len(s) {
		if n++; !in[s[i]] {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// encoded scans the decoded parts of s; tags is the text that invisible characters spell.
func (w *walker) encoded(s, folded, tags string, depth int) (found kind) {
	inner := func(plain string, sure bool) {
		if plain == "" || plain == s {
			return
		}
		if more, t := w.kinds(plain, odd, depth+1); more&^(outOfSight|hints) != 0 || more&(mentionsPath|mentionsCommand|mentionsCollector) != 0 {
			found |= encoded | more | unseenChars
		} else if sure && len(t.words) >= 4 && t.all&instructing != 0 {
			found |= encoded
		}
	}
	inner(tags, false)
	for _, e := range encodings {
		if len(s) < 8 || !e.may(s, folded) {
			continue
		}
		matches := []string{s}
		if e.like != nil {
			matches = e.like.FindAllString(s, 100)
		}
		for _, match := range matches {
			inner(e.decode(match), e.sure)
		}
	}
	if depth > 0 {
		found &^= unseenChars // the outer text reports it
	}
	return found
}

func rot13(r rune) rune {
	if low := r | 0x20; low >= 'a' && low <= 'z' {
		return r - low + 'a' + (low-'a'+13)%26
	}
	return r
}

// decode decodes a code in digits or base64, or returns "".
func decode(code string) string {
	code = strings.NewReplacer(" ", "", ":", "", "0x", "", ",", "", "-", "+", "_", "/").Replace(code)
	b, err := hex.DecodeString(code)
	switch {
	case strings.Trim(code, "01") == "":
		for b = nil; len(code) >= 8; code = code[8:] {
			n, _ := strconv.ParseUint(code[:8], 2, 8)
			b = append(b, byte(n))
		}
	case err == nil && len(code) >= 16:
	case !strings.ContainsFunc(code, unicode.IsUpper):
		return "" // a name
	default:
		if b, err = base64.RawStdEncoding.DecodeString(code); err != nil {
			if b, err = base64.RawStdEncoding.DecodeString(code[:len(code)&^3]); err != nil {
				return ""
			}
		}
	}
	return legible(b)
}

// legible returns b if it is text, in UTF-8 or in UTF-16.
func legible(b []byte) string {
	if narrow := make([]byte, 0, len(b)/2); len(b) >= 16 && b[1] == 0 {
		for i := 0; i+1 < len(b) && b[i+1] == 0; i += 2 {
			narrow = append(narrow, b[i])
		}
		b = narrow
	}
	if len(b) < 8 || !utf8.Valid(b) || strings.ContainsFunc(string(b), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' }) {
		return ""
	}
	return string(b)
}
