// Package hide keeps what a server was given secret: it puts references back in
// place of the values in what the server writes, answers and lists.
package hide

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// A Hider replaces the secret values of a server by references: the values of its
// ${VAR} references, and literal values in its env and headers. Servers repeat such
// values in stderr, logs and answers. A nil Hider hides nothing. It is safe for
// concurrent use.
type Hider struct {
	text *strings.Replacer
	json *strings.Replacer // the same inside a JSON string
	// secret is json without values that look public, which must stay unchanged in
	// names and schemas.
	secret *strings.Replacer
}

// minHidden is the smallest length of a hidden value: a shorter one may occur by
// coincidence.
const minHidden = 6

// New returns a Hider of values, each with what is shown in its place; nil
// if there are none.
func New(values map[string]string) *Hider {
	all := make(map[string]string)
	for v, shown := range values {
		for _, form := range forms(v) {
			if len(form) >= minHidden {
				all[form] = shown
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	// A value may contain another one: the longer goes first.
	longest := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var text, inJSON, secret []string
	for _, v := range longest {
		escaped, shown := jsonEscaped(v), jsonEscaped(all[v])
		text = append(text, v, all[v])
		for _, spelling := range spellings(escaped) {
			text = append(text, spelling, all[v])
		}
		inJSON = append(inJSON, escaped, shown)
		name := strings.Trim(all[v], "${}")
		if name == all[v] || strings.HasPrefix(name, "keyring:") || strings.Contains(name, "://") || !LooksPublic(name, v) {
			secret = append(secret, escaped, shown)
		}
	}
	return &Hider{strings.NewReplacer(text...), strings.NewReplacer(inJSON...), strings.NewReplacer(secret...)}
}

// forms returns the forms in which a value may occur: unchanged, as part of a URL, and
// line by line, as in a log.
func forms(value string) []string {
	out := []string{value, url.QueryEscape(value), url.PathEscape(value)}
	if strings.ContainsAny(value, "\r\n") {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= 16 { // else it may be a brace or "-----"
				out = append(out, line)
			}
		}
	}
	return out
}

// spellings returns other escaped forms of text in JSON. Unreadable messages are shown
// unchanged, in any of them.
func spellings(escaped string) []string {
	slashes := strings.ReplaceAll(escaped, "/", `\/`)
	out := []string{escaped, slashes}
	for _, s := range []string{escaped, slashes} {
		for _, format := range []string{`\u%04x`, `\u%04X`} {
			var ascii strings.Builder
			for _, unit := range utf16.Encode([]rune(s)) {
				if unit < utf8.RuneSelf {
					ascii.WriteByte(byte(unit))
				} else {
					fmt.Fprintf(&ascii, format, unit)
				}
			}
			out = append(out, ascii.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// jsonEscaped returns s in the form between the quotes of a JSON string.
func jsonEscaped(s string) string {
	quoted := gate.Compact(s)
	return string(quoted[1 : len(quoted)-1])
}

// In returns s with the values hidden.
func (h *Hider) In(s string) string {
	if h == nil {
		return s
	}
	return h.text.Replace(s)
}

// InJSON does the same for the strings of a JSON text.
func (h *Hider) InJSON(raw json.RawMessage) json.RawMessage {
	if h == nil || len(raw) == 0 {
		return raw
	}
	return json.RawMessage(h.json.Replace(string(plain(raw))))
}

// plain returns a JSON text with only the necessary escapes. Encoders differ in whether
// they escape slashes and non-ASCII characters, and values are searched for in one
// form.
func plain(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`\/`)) && !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	out, ok := jsonscan.Rewrite(raw, func(l jsonscan.Literal) []byte {
		if bytes.IndexByte(l.Text, '\\') < 0 {
			return nil
		}
		return gate.Compact(string(jsonscan.Unquote(l.Text)))
	})
	if !ok {
		return raw
	}
	return out
}

// Holds reports whether text contains a secret value. Use it for names and addresses,
// which are useless after a replacement.
func (h *Hider) Holds(s string) bool { return h != nil && !h.nameless(s) }

// InErr hides the values in the text of err, and keeps what it wraps.
func (h *Hider) InErr(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); h.In(text) != text {
		return &hiddenError{text: h.In(text), err: err}
	}
	return err
}

// hiddenError is an error with hidden values in its text.
type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.err }

// FailedResult hides the values in a result with isError, which is a message to the
// caller. Other results are data and stay unchanged.
func (h *Hider) FailedResult(raw json.RawMessage) json.RawMessage {
	if h == nil || !bytes.Contains(raw, []byte(`"isError"`)) {
		return raw
	}
	failed := false
	transport.EachMember(raw, func(key string, value json.RawMessage) {
		if key == "isError" {
			failed = string(value) == "true"
		}
	})
	if !failed {
		return raw
	}
	return h.InJSON(raw)
}

// LooksPublic reports whether a literal value of the configuration can be shown: a
// word, a small number, a path or a plain address is more useful in a message than the
// name of its variable.
func LooksPublic(name, value string) bool {
	if launch.HoldsCredentials(strings.ReplaceAll(name, "-", "_"), value) || strings.EqualFold(name, "cookie") {
		return false
	}
	if filepath.IsAbs(value) || strings.HasPrefix(value, "~/") || strings.HasPrefix(value, "./") {
		return true
	}
	if u, err := url.Parse(value); err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" {
		return true
	}
	return !strings.ContainsFunc(value, func(r rune) bool { return !isLetter(r) }) ||
		len(value) < 12 && !strings.ContainsFunc(value, func(r rune) bool { return !strings.ContainsRune("0123456789.:,", r) })
}

// SecretArg returns the secret part of the argument arg, which follows before, by the
// name of its flag or header, or "".
func SecretArg(before, arg string) string {
	secret := func(name string) bool {
		return len(name) < 40 && launch.HoldsCredentials(strings.ReplaceAll(name, "-", "_"), "")
	}
	if strings.HasPrefix(arg, "-") {
		if name, value, ok := strings.Cut(arg, "="); ok && secret(name) {
			return value
		}
		return ""
	}
	if name, value, ok := strings.Cut(arg, ":"); ok && !strings.HasPrefix(value, "//") && secret(name) {
		value = strings.TrimSpace(value) // such as "Authorization: Bearer x"
		if _, rest, ok := strings.Cut(value, " "); ok {
			return rest
		}
		return value
	}
	if strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && secret(before) {
		return arg
	}
	return ""
}

// SecretsInURL returns the password, and the query values with names of secrets.
func SecretsInURL(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	var out []string
	if password, ok := u.User.Password(); ok {
		out = append(out, password)
	}
	for name, values := range u.Query() {
		if lower := strings.ToLower(name); strings.Contains(lower, "key") || launch.HoldsCredentials(name, "") {
			out = append(out, values...)
		}
	}
	return out
}

func isLetter(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune("/;,=-_. ", r)
}
