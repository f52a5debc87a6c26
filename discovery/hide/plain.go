package hide

import (
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
)

// plainNames are variables that configure a session, a program or a network. Their
// values are more useful in a message than their names.
var plainNames = wordSet(`HOME USER USERNAME LOGNAME USERPROFILE HOMEPATH HOMEDRIVE PWD OLDPWD LANG LANGUAGE TMPDIR TMP TEMP PATH SHELL TZ TERM
	HOST HOSTNAME PORT EDITOR VISUAL PAGER DISPLAY COLORTERM COLUMNS LINES SHLVL OS COMPUTERNAME APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES
	SYSTEMROOT WINDIR COMSPEC PATHEXT CI DEBUG NODE_ENV`)

// plainWords end the names of variables that are settings, such as AWS_REGION.
var plainWords = wordSet(`REGION HOST HOSTNAME PORT LEVEL ENV PATH DIR HOME USER PROJECT MODEL LOCALE TIMEOUT MODE ZONE NAME VERSION CLUSTER
	NAMESPACE FOLDER FILE DEBUG ENABLED DISABLED VERBOSE LIMIT SIZE COUNT`)

// secretWords are words in the names of secrets, in addition to those of
// launch.HoldsCredentials.
var secretWords = wordSet(`PW PWD PASS PASSPHRASE KEY KEYS PAT JWT COOKIE SESSION SIG SIGNATURE SALT DSN WEBHOOK BEARER OTP PIN CRED CREDS PRIVATE`)

func wordSet(text string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(text) {
		set[w] = true
	}
	return set
}

// PlainReference reports whether the value of a reference can be shown: it refers to a
// variable of the environment, and IsPlain holds for its name and for the name of the
// setting. Values from a keyring, a person or a program are never shown.
func PlainReference(reference, setting, value string) bool {
	name, ok := strings.CutPrefix(reference, "${")
	if !ok {
		return false
	}
	name = strings.TrimPrefix(strings.TrimSuffix(name, "}"), "env:")
	name, _, _ = strings.Cut(name, ":-")
	return !strings.Contains(name, ":") && !namesSecret(setting) && IsPlain(name, value)
}

// IsPlain reports whether the value of a variable can be shown: neither its name nor
// its value looks like a secret, and at least one of them is known to be harmless.
func IsPlain(name, value string) bool {
	if namesSecret(name) || launch.HoldsCredentials("", value) {
		return false
	}
	upper := strings.ToUpper(name)
	known := plainNames[upper] || strings.HasPrefix(upper, "LC_") || strings.HasPrefix(upper, "XDG_")
	if path := filepath.IsAbs(value) || strings.HasPrefix(value, "/"); path && (known || strings.Count(value, "/")+strings.Count(value, `\`) > 1 || len(value) < 20) {
		return true
	}
	if random(value) {
		return false
	}
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		return u.User == nil && u.RawQuery == "" && u.Fragment == ""
	}
	switch words := nameWords(upper); {
	case known, plainWords[words[len(words)-1]] && len(value) <= 64:
		return true
	case strings.ContainsFunc(value, func(r rune) bool { return !isLetter(r) }):
		_, err := strconv.ParseFloat(value, 64)
		return err == nil && len(value) <= 6
	}
	return true
}

// namesSecret reports whether a name, in any style, is that of a secret.
func namesSecret(name string) bool {
	upper := strings.ToUpper(name)
	if upper == "PWD" || upper == "OLDPWD" {
		return false
	}
	return launch.HoldsCredentials(strings.ReplaceAll(name, "-", "_"), "") ||
		slices.ContainsFunc(nameWords(upper), func(w string) bool { return secretWords[w] })
}

// nameWords returns the words of a name; at least one.
func nameWords(name string) []string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == ' ' })
	if len(words) == 0 {
		return []string{name}
	}
	return words
}

// random reports whether a value has a run of characters like a key or token: long,
// with letters and digits, or with upper and lower case mixed irregularly.
func random(value string) bool {
	for run := range strings.FieldsFuncSeq(value, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '+' || r == '=')
	}) {
		digits := strings.ContainsAny(run, "0123456789")
		letters := strings.ContainsFunc(run, func(r rune) bool { return r < '0' || r > '9' })
		if len(run) >= 16 && digits && letters || len(run) > 20 && !digits {
			return true
		}
	}
	return false
}
