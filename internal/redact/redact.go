// Package redact hides what looks like a secret in a text or in JSON, and cuts
// what is too long.
package redact

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// Hidden is what replaces a secret.
const Hidden = "[redacted]"

// lookahead is how much more than what is kept is searched for secrets, so that
// the cut does not make one unrecognisable.
const lookahead = 4 << 10

// secretKeys are parts of the names of secrets, without separators.
var secretKeys = []string{"password", "passwd", "passphrase", "passcode", "secret", "privatekey", "authorization",
	"token", "apikey", "accesskey", "accountkey", "signingkey", "encryptionkey", "authkey", "credential", "cookie", "sessionid",
	"connectionstring", "bearer", "jwt"}

// countKeys are names that only look like those of a secret.
var countKeys = []string{"tokencount", "maxtokens", "inputtokens", "outputtokens", "totaltokens", "tokenizer", "tokentype"}

var separators = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

// isSecretKey reports whether the value under this key is a secret.
func isSecretKey(key string) bool {
	key = separators.Replace(strings.ToLower(key))
	switch key {
	case "auth", "pass", "pin", "otp", "cvv", "cvc", "totp":
		return true
	}
	if strings.HasSuffix(key, "pwd") {
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

// Text hides what looks like a secret in a text: keys and tokens of known
// services, bearer tokens, JWTs, private keys, passwords in addresses, and what
// follows a word such as "password=".
func Text(text string) string {
	if len(text) < 8 {
		return text // too short for any of them, as most values are
	}
	tokens, hinted := finder().find(text)
	if len(tokens) > 0 {
		var b strings.Builder
		end := 0
		for _, t := range tokens {
			b.WriteString(text[end:t.from])
			b.WriteString(Hidden)
			end = t.to
		}
		text = b.String() + text[end:]
	}
	// What a replacement adds has no hint in it, so they hold to the end.
	for hinted != 0 {
		s := &shapes[bits.TrailingZeros64(hinted)]
		hinted &= hinted - 1
		text = s.expr().ReplaceAllString(text, s.with)
	}
	return text
}

// Cut is Text for at most limit bytes of s.
func Cut(s string, limit int) string {
	return cut(Text(cut(s, limit+lookahead)), limit)
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
