package redact

import (
	"cmp"
	"slices"
	"strings"
)

// A Span is sensitive data in a text: bytes Start to End. Type is its kind, such as "email" or
// "github_token".
type Span struct {
	Type  string `json:"type"`
	Start int    `json:"start"`
	End   int    `json:"end"`

	strings int  // in JSON: the number of strings around it
	number  bool // in JSON: a number
}

// Find returns the sensitive data in order and without overlaps: secrets, e-mail addresses, phone
// numbers in international form, payment cards, IBANs and US social security numbers, those with
// check digits only if these are right. It ignores values that only look like secrets, such as
// placeholders in examples. It does not find names and postal addresses.
func Find(text string) []Span { return find(text, true) }

// FindSecrets is like Find, without personal data.
func FindSecrets(text string) []Span { return find(text, false) }

func find(text string, persons bool) []Span {
	spans := triggers().find(text, persons)
	if spans == nil {
		return nil
	}
	spans = slices.DeleteFunc(spans, func(s Span) bool {
		return rank(s.Type) > 0 && s.Type != "private_key" && placeholder(text[s.Start:s.End], s.Type) || s.Type == generic && prose(text, s)
	})
	for i, s := range spans { // "hunter2." at the end of a sentence
		for s.Type == generic && s.End-s.Start > 4 && strings.IndexByte(".!?", text[s.End-1]) >= 0 && (s.End == len(text) || text[s.End] <= ' ') {
			s.End--
		}
		spans[i] = s
	}
	return merge(spans)
}

// Replace returns text with each span replaced by the result of mark for its type and value. The
// spans must be in order and must not overlap.
func Replace(text string, spans []Span, mark func(kind, value string) string) string {
	if len(spans) == 0 {
		return text
	}
	var b strings.Builder
	end := 0
	for _, s := range spans {
		b.WriteString(text[end:s.Start])
		b.WriteString(mark(s.Type, text[s.Start:s.End]))
		end = s.End
	}
	b.WriteString(text[end:])
	return b.String()
}

// Mark returns a mark with the kind of the value, such as «email».
func Mark(kind, _ string) string { return "«" + kind + "»" }

// merge sorts spans and joins overlapping ones: the type of a known service takes precedence over
// that of a field.
func merge(spans []Span) []Span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortStableFunc(spans, func(a, b Span) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	out := spans[:1]
	for _, s := range spans[1:] {
		last := &out[len(out)-1]
		if s.Start >= last.End {
			out = append(out, s)
			continue
		}
		whole := max(last.End, s.End) - last.Start
		if rank(s.Type) > rank(last.Type) && (s.End-s.Start)*10 >= whole*6 {
			last.Type = s.Type
		}
		last.End = max(last.End, s.End)
	}
	return out
}

// Personal reports whether a type of spans is personal data, and not a secret.
func Personal(kind string) bool { return rank(kind) == 0 }

func rank(kind string) int {
	switch kind {
	case generic:
		return 1
	case "bearer_token", "url_password", "secret_key":
		return 2
	case "email", "phone", "card", "iban", "ssn":
		return 0
	}
	return 3
}

// placeholder reports whether a value is a placeholder in an example or a template.
func placeholder(v, kind string) bool {
	if v == "" || v[0] == '$' || v[0] == '%' || v[0] == '<' || strings.HasPrefix(v, "{{") || strings.HasPrefix(v, "«") || strings.HasPrefix(v, "[redacted") {
		return true
	}
	low := strings.ToLower(v)
	for _, p := range []string{"example", "placeholder", "your_", "your-", "yourapi", "yourtoken", "xxxx", "changeme", "change_me", "change-me", "redacted", "process.env", "os.environ", "os.getenv", "env.", "env:", "keyring:", "secrets.", "vault:", "insert_", "replace_", "dummy", "<your", "my_api_key", "my-api-key", "todo"} {
		if strings.Contains(low, p) {
			return true
		}
	}
	distinct, last := 0, [256]bool{}
	for i := range len(v) {
		if !last[v[i]] {
			last[v[i]] = true
			distinct++
		}
	}
	if distinct <= 2 || distinct <= 4 && len(v) >= 20 {
		return true
	}
	if kind == generic || kind == "url_password" {
		switch low {
		case "null", "none", "nil", "true", "false", "undefined", "string", "required", "optional", "password", "passwd", "pass", "pwd", "secret", "token", "user", "hidden", "missing", "empty", "invalid", "expired", "unset", "not", "number", "object":
			return true
		}
	}
	return false
}

// prose reports whether a secret that only its name identifies is a word of a sentence, as in
// "password: must have eight characters".
func prose(text string, s Span) bool {
	v := text[s.Start:s.End]
	if strings.ContainsFunc(v, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '.' }) {
		return false
	}
	before := strings.TrimRight(text[:s.Start], " ")
	if len(before) == s.Start || before == "" || before[len(before)-1] != ':' {
		return false
	}
	if v != strings.ToLower(v) && v[1:] != strings.ToLower(v[1:]) {
		return false
	}
	return s.End < len(text) && (text[s.End] == ' ' || text[s.End] == ',') || strings.HasSuffix(v, ".")
}
