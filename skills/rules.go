package skills

import (
	"cmp"
	"fmt"
	"slices"
)

// A Mode is a way to judge a SKILL.md.
type Mode int

const (
	// Strict is the standard, and what its reference validator refuses.
	Strict Mode = iota
	// Lenient loads what can be used, from a folder or when it is installed: it refuses
	// a skill only if its header or description cannot be read, or for safety.
	Lenient
)

// A Severity says what a diagnostic means for the skill.
type Severity string

const (
	// Error means that the skill is refused: it is not valid, or does not load.
	Error Severity = "error"
	// Warning means that the skill can be used all the same.
	Warning Severity = "warning"

	silent Severity = ""
)

// A Diagnostic is one problem of a SKILL.md.
type Diagnostic struct {
	// Code names the rule and never changes.
	Code string `json:"code"`
	// Severity depends on the mode in which the skill was judged.
	Severity Severity `json:"severity"`
	// Field is the key of the header that it is about, or empty.
	Field string `json:"field"`
	// Message says what to change.
	Message string `json:"message"`
	// Line is counted from 1 in the file; 0 means the file as a whole.
	Line int `json:"line"`
}

// String is the diagnostic in one line, without the name of the file.
func (d Diagnostic) String() string {
	where := ""
	if d.Line > 0 {
		where = fmt.Sprintf("line %d: ", d.Line)
	}
	return fmt.Sprintf("%s%s: %s [%s]", where, d.Severity, d.Message, d.Code)
}

// A rule is what one code means in each mode.
type rule struct {
	field           string
	strict, lenient Severity
	// strictCode is the code under which Strict reports it, if the standard has only a
	// more general one.
	strictCode string
}

// The usual kinds of rules.
func refused(field string) rule {
	return rule{field: field, strict: Error, lenient: Error}
}
func tolerated(field string) rule {
	return rule{field: field, strict: Error, lenient: Warning}
}
func advice(field string) rule {
	return rule{field: field, strict: Warning, lenient: Warning}
}

// rules is the one table that everything is judged by.
var rules = map[string]rule{
	"missing_skill_md": refused(""),
	"skill_md_case":    advice(""),
	"symlink_escape":   refused(""),
	"unreadable":       refused(""),
	"file_too_large":   refused(""),
	"invalid_utf8":     refused(""),
	"bom":              tolerated(""),

	"no_frontmatter":       refused(""),
	"leading_blank":        {strict: Error, lenient: Warning, strictCode: "no_frontmatter"},
	"unclosed_frontmatter": refused(""),
	"invalid_yaml":         refused(""),
	"yaml_repaired":        {strict: Error, lenient: Warning, strictCode: "invalid_yaml"},
	"yaml_alias":           refused(""),
	"yaml_tag":             refused(""),
	"yaml_flow_style":      {strict: Error, lenient: silent},
	"not_a_mapping":        refused(""),
	"duplicate_key":        tolerated(""),
	"unknown_field":        tolerated(""),

	"missing_name":       tolerated("name"),
	"empty_name":         tolerated("name"),
	"name_not_string":    tolerated("name"),
	"name_too_long":      tolerated("name"),
	"name_not_lowercase": tolerated("name"),
	"name_edge_hyphen":   tolerated("name"),
	"name_double_hyphen": tolerated("name"),
	"name_bad_char":      tolerated("name"),
	"name_dir_mismatch":  tolerated("name"),

	"missing_description":       refused("description"),
	"empty_description":         refused("description"),
	"description_not_string":    tolerated("description"),
	"description_too_long":      tolerated("description"),
	"description_angle_bracket": {field: "description", strict: Warning, lenient: Warning},

	"compatibility_not_string":  tolerated("compatibility"),
	"compatibility_empty":       tolerated("compatibility"),
	"compatibility_too_long":    tolerated("compatibility"),
	"metadata_not_map":          tolerated("metadata"),
	"metadata_value_not_string": tolerated("metadata"),
	"allowed_tools_not_string":  tolerated("allowed-tools"),

	"body_too_long":    advice(""),
	"workflow_invalid": advice(""),
}

// A finding is a rule that a text broke, before it is known how that is judged.
type finding struct {
	code    string
	field   string // overrides that of the rule
	line    int
	message string
}

// Judge says what to report in a mode, in the order of the file, and
// whether the skill may be used: no diagnostic is an Error.
func (d *Doc) Judge(m Mode) (ok bool, list []Diagnostic) {
	ok = true
	for _, f := range d.findings {
		r := rules[f.code]
		code, severity := f.code, r.lenient
		if m != Lenient {
			code, severity = cmp.Or(r.strictCode, f.code), r.strict
		}
		if severity == silent {
			continue
		}
		ok = ok && severity != Error
		list = append(list, Diagnostic{code, severity, cmp.Or(f.field, r.field), f.message, f.line})
	}
	slices.SortStableFunc(list, func(a, b Diagnostic) int { return cmp.Compare(a.Line, b.Line) })
	return ok, list
}

func (d *Doc) found(code string, line int, format string, args ...any) {
	d.findings = append(d.findings, finding{code: code, line: line, message: fmt.Sprintf(format, args...)})
}
