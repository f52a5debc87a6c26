// Package redact finds what should not leave in a text or in JSON: secrets, which
// are hidden in everything that is kept, and data about persons. It also cuts what
// is too long.
package redact

import (
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
	tokens, hints := finder().find(text)
	if len(tokens) == 0 && len(hints) == 0 {
		return text
	}
	return Replace(text, merge(append(tokens, shaped(text, hints)...)), func(string, string) string { return Hidden })
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
