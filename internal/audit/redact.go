package audit

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// Redacted is what stands in the record in place of a secret.
	Redacted = "[redacted]"
	// maxPayload is how many bytes of a program, arguments or a result are kept.
	maxPayload = 64 << 10
	// maxError is how many bytes of an error are kept.
	maxError = 2 << 10
	// lookahead is how much more than what is kept is searched for secrets, so
	// that the cut does not make one unrecognisable.
	lookahead = 4 << 10
)

// secretKeys are parts of the names of secrets, without separators.
var secretKeys = []string{"password", "passwd", "passphrase", "passcode", "secret", "privatekey", "authorization",
	"token", "apikey", "accesskey", "authkey", "credential", "cookie", "sessionid", "connectionstring", "bearer", "jwt"}

// countKeys are names that only look like those of a secret.
var countKeys = []string{"tokencount", "maxtokens", "inputtokens", "outputtokens", "totaltokens", "tokenizer", "tokentype"}

// isSecretKey reports whether the value under this key is a secret.
func isSecretKey(key string) bool {
	key = strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace(strings.ToLower(key))
	switch key {
	case "auth", "pwd", "pin", "otp", "cvv", "cvc", "totp":
		return true
	}
	for _, c := range countKeys {
		if strings.Contains(key, c) {
			return false
		}
	}
	for _, s := range secretKeys {
		if strings.Contains(key, s) {
			return true
		}
	}
	return false
}

// A shape is how a secret looks in a text. The parts before and after the one
// that is hidden are kept: $1 and $2.
type shape struct {
	*regexp.Regexp
	with string
}

// plain is a shape that is hidden as a whole.
func plain(expr string) shape { return shape{regexp.MustCompile(expr), Redacted} }

// assignment is a name of a secret with what stands between it and the value,
// as in password=… and "api_key": …; "unexpected token: x" is none.
const assignment = `(?i)((?:(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|cookie)["']?\s*[=:]|token(?:["']\s*[=:]|\s*=))\s*`

var shapes = []shape{
	plain(`-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY[A-Z ]*-----|\z)`),
	plain(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,3}`),
	plain(`\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{24,}|hf_[A-Za-z0-9]{24,})`),
	plain(`\b(?:xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,})`),
	plain(`\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}`),
	plain(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`),
	plain(`\bAIza[A-Za-z0-9_-]{30,}`),
	plain(`\bya29\.[A-Za-z0-9._-]{16,}`),
	{regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/-]*[0-9._~+/=][A-Za-z0-9._~+/=-]{6,}`), "${1}" + Redacted},
	{regexp.MustCompile(`(?i)(authorization["']?\s*[:=]\s*["']?)[^"'\r\n,;}]+`), "${1}" + Redacted},
	{regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"']*:)[^\s/@"']+(@)`), "${1}" + Redacted + "${2}"},
	{regexp.MustCompile(assignment + `)"(?:[^"\\]|\\.)*"`), `${1}"` + Redacted + `"`},
	{regexp.MustCompile(assignment + `["']?)[^\s"'&,;(){}\[\]]{3,}`), "${1}" + Redacted},
}

// Redact hides what looks like a secret in a text: keys and tokens of known
// services, bearer tokens, JWTs, private keys, passwords in addresses, and what
// follows a word such as "password=".
func Redact(text string) string {
	for _, s := range shapes {
		text = s.ReplaceAllString(text, s.with)
	}
	return text
}

// A redactor makes texts fit to be recorded.
type redactor struct {
	extra func(string) string
}

func (r redactor) text(s string) string {
	if r.extra != nil {
		s = r.extra(s)
	}
	return Redact(s)
}

// short makes an error fit to be recorded, long a program.
func (r redactor) short(s string) string { return r.upTo(s, maxError) }
func (r redactor) long(s string) string  { return r.upTo(s, maxPayload) }

func (r redactor) upTo(s string, limit int) string {
	if s == "" {
		return s
	}
	return cut(r.text(cut(s, limit+lookahead)), limit)
}

// cut shortens s to at most n bytes of whole characters.
func cut(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
