package codegen

import (
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A doc is the comment on a type.
type doc struct {
	text  string
	facts []fact
}

// A fact is a property that a type cannot express. brief is its form in a short comment, or empty
// to omit it.
type fact struct{ tag, text, brief string }

// docOf returns the comment for a schema, or nil.
func docOf(v value) *doc {
	s, ok := v.(*object)
	if !ok {
		return nil
	}
	d := &doc{text: commentText(s.Text("description"))}
	add := func(tag, text, brief string) {
		d.facts = append(d.facts, fact{tag, commentText(text), commentText(brief)})
	}
	if s.Has("default") {
		text := gate.Cut(encode(s.Get("default")), 200)
		add("default", text, "default "+gate.Cut(text, 40))
	}
	if f := s.Text("format"); f != "" {
		add("format", gate.Cut(f, 80), gate.Cut(f, 40))
	}
	if s.Text("type") == "integer" {
		add("integer", "", "")
	}
	if r := rangeOf(s); r != "" {
		add("range", r, r)
	}
	if m, ok := s.Get("multipleOf").(number); ok && m != "1" {
		add("multipleOf", string(m), "")
	}
	if r := between(s, "minLength", "maxLength"); r != "" {
		add("length", r, "")
	}
	if r := between(s, "minItems", "maxItems"); r != "" {
		add("items", r, "")
	}
	if p := s.Text("pattern"); p != "" && len(p) <= 80 {
		add("pattern", p, "")
	}
	if e := s.List("examples"); len(e) > 0 {
		add("example", gate.Cut(encode(e[0]), 80), "")
	}
	if r := together(s); r != "" {
		add("requires", r, "needs "+r)
	}
	if s.Get("deprecated") == true {
		add("deprecated", "", "deprecated")
	}
	if d.text == "" && len(d.facts) == 0 {
		return nil
	}
	return d
}

// rangeOf returns the allowed numbers, such as ">=1 <=100".
func rangeOf(s *object) string {
	var parts []string
	for _, bound := range []struct{ key, exclusive, sign string }{
		{"minimum", "exclusiveMinimum", ">"}, {"maximum", "exclusiveMaximum", "<"},
	} {
		n, ok := s.Get(bound.key).(number)
		strict := s.Get(bound.exclusive) == true // draft-04
		if x, isNumber := s.Get(bound.exclusive).(number); isNumber {
			n, ok, strict = x, true, true
		}
		switch {
		case !ok || strings.TrimPrefix(string(n), "-") == "9007199254740991":
			// Generators write the largest safe integers, which is not a restriction.
		case strict:
			parts = append(parts, bound.sign+string(n))
		default:
			parts = append(parts, bound.sign+"="+string(n))
		}
	}
	return strings.Join(parts, " ")
}

// between returns the allowed lengths, such as "1..200", ">=1" or "<=10".
func between(s *object, least, most string) string {
	low, hasLow := s.Get(least).(number)
	high, hasHigh := s.Get(most).(number)
	hasHigh = hasHigh && high != "9007199254740991"
	switch hasLow = hasLow && low != "0"; {
	case hasLow && hasHigh:
		return string(low) + ".." + string(high)
	case hasLow:
		return ">=" + string(low)
	case hasHigh:
		return "<=" + string(high)
	}
	return ""
}

// together returns the required keys if anyOf or oneOf only list required keys, such as
// "owner and repo, or url".
func together(s *object) string {
	for _, key := range []string{"anyOf", "oneOf"} {
		var groups []string
		for _, branch := range s.List(key) {
			o, ok := branch.(*object)
			if !ok || restricting(o) {
				return ""
			}
			var names []string
			for _, r := range o.List("required") {
				if name, ok := r.(string); ok {
					names = append(names, name)
				}
			}
			if len(names) > 0 {
				groups = append(groups, strings.Join(names, " and "))
			}
		}
		if len(groups) > 1 {
			return gate.Cut(strings.Join(groups, ", or "), 200)
		}
	}
	return ""
}

// commentText makes untrusted text safe in a comment: nothing ends the comment,
// lines end with \n, and invisible characters are removed.
func commentText(s string) string {
	if plainComment(s) {
		return strings.TrimSpace(s)
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	s = gate.Clean(strings.NewReplacer("\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(s))
	return strings.TrimSpace(strings.ReplaceAll(s, "*/", `*\/`))
}

func plainComment(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7f || c == '/' && i > 0 && s[i-1] == '*' {
			return false
		}
	}
	return true
}

// brief returns a short comment without line breaks: the first sentence and what the
// type omits.
func (d *doc) brief(limit int) string {
	if d == nil {
		return ""
	}
	parts := make([]string, 0, 1+len(d.facts))
	if limit > 0 && d.text != "" {
		parts = append(parts, sentence(d.text, limit, 1))
	}
	for _, f := range d.facts {
		if f.brief != "" {
			parts = append(parts, strings.Join(strings.Fields(f.brief), " "))
		}
	}
	return strings.Join(parts, "; ")
}
