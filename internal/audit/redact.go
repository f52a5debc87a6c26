package audit

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// Redacted is what stands in the record in place of a secret.
	Redacted = "[redacted]"
	// maxPayload is how many bytes of a program, arguments or a result are kept.
	maxPayload = 64 << 10
	// maxName is how many bytes of any other text are kept.
	maxName = 512
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

var separators = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

// isSecretKey reports whether the value under this key is a secret.
func isSecretKey(key string) bool {
	key = separators.Replace(strings.ToLower(key))
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

// A shape is how a secret looks in a text. What with names by $1 and $2 is kept.
type shape struct {
	// hints are what a text has to contain, in lower case and at least one of
	// them, for the expression to be worth its time, which is a thousand times
	// as long as looking for a hint.
	hints []string
	expr  *regexp.Regexp
	with  string
}

// assignment is a name of a secret with what stands between it and the value,
// as in password=… and "api_key": …; "unexpected token: x" is none.
const assignment = `(?i)((?:(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|cookie)["']?\s*[=:]|token(?:["']\s*[=:]| ?=))\s*`

var assigned = []string{"password", "passwd", "passphrase", "secret", "cookie", "apikey", "api_key", "api-key", "accesskey", "access_key",
	"access-key", "privatekey", "private_key", "private-key", `token"`, "token'", "token=", "token ="}

var shapes = []shape{
	{[]string{"-----begin"}, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY[A-Z ]*-----|\z)`), Redacted},
	{[]string{"eyj"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,3}`), Redacted},
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{16,}`), Redacted},
	{[]string{"github_pat_"}, regexp.MustCompile(`github_pat_[A-Za-z0-9_]{16,}`), Redacted},
	{[]string{"glpat-"}, regexp.MustCompile(`glpat-[A-Za-z0-9_-]{16,}`), Redacted},
	{[]string{"npm_", "hf_"}, regexp.MustCompile(`\b(?:npm|hf)_[A-Za-z0-9]{24,}`), Redacted},
	{[]string{"xox", "xapp-"}, regexp.MustCompile(`\b(?:xox[a-z]|xapp)-[A-Za-z0-9-]{8,}`), Redacted},
	{[]string{"sk-", "sk_", "pk_", "rk_"}, regexp.MustCompile(`\b(?:sk[-_]|pk_|rk_)[A-Za-z0-9_-]{16,}`), Redacted},
	{[]string{"akia", "asia"}, regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), Redacted},
	{[]string{"aiza"}, regexp.MustCompile(`AIza[A-Za-z0-9_-]{30,}`), Redacted},
	{[]string{"ya29."}, regexp.MustCompile(`ya29\.[A-Za-z0-9._-]{16,}`), Redacted},
	{[]string{"bearer", "basic"}, regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/-]*[0-9._~+/=][A-Za-z0-9._~+/=-]{6,}`), "${1}" + Redacted},
	{[]string{"authorization"}, regexp.MustCompile(`(?i)(authorization["']?\s*[:=]\s*["']?)[^"'\r\n,;}]+`), "${1}" + Redacted},
	{[]string{"://"}, regexp.MustCompile(`(://[^\s/:@"']*:)[^\s/@"']+(@)`), "${1}" + Redacted + "${2}"},
	{assigned, regexp.MustCompile(assignment + `)"(?:[^"\\]|\\.)*"`), `${1}"` + Redacted + `"`},
	{assigned, regexp.MustCompile(assignment + `["']?)[^\s"'&,;(){}\[\]]{3,}`), "${1}" + Redacted},
}

// Redact hides what looks like a secret in a text: keys and tokens of known
// services, bearer tokens, JWTs, private keys, passwords in addresses, and what
// follows a word such as "password=".
func Redact(text string) string {
	if len(text) < 8 {
		return text // too short for any of them, as most values are
	}
	// What a replacement adds has no hint in it, so this holds to the end.
	lower := strings.ToLower(text)
	for _, s := range shapes {
		hinted := func(hint string) bool { return strings.Contains(lower, hint) }
		if slices.ContainsFunc(s.hints, hinted) {
			text = s.expr.ReplaceAllString(text, s.with)
		}
	}
	return text
}

// short makes an error fit to be recorded, long a program.
func short(s string) string { return upTo(s, maxError) }
func long(s string) string  { return upTo(s, maxPayload) }

// cutNames shortens texts that are neither errors nor payloads.
func cutNames(names ...*string) {
	for _, n := range names {
		if len(*n) > maxName {
			*n = strings.Clone(cut(*n, maxName))
		}
	}
}

// upTo is what is recorded of a text: so much of it, without its secrets.
func upTo(s string, limit int) string {
	return cut(Redact(cut(s, limit+lookahead)), limit)
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
