package skills

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// FileName is the file that makes a folder a skill.
	FileName = "SKILL.md"
	// lowerFileName is used if FileName does not exist.
	lowerFileName = "skill.md"

	// MaxFileBytes bounds a SKILL.md.
	MaxFileBytes = 1 << 20
	// MaxBodyLines is how long a body may be before it is reported.
	MaxBodyLines = 500
)

// A Doc is one SKILL.md that was read, whatever is wrong with it. Judge says
// whether it may be used. It is not changed after it was read.
type Doc struct {
	// Name is the declared one, trimmed and in Unicode form NFKC; without a
	// usable one it is that of the skill's folder.
	Name string
	// Description says what the skill does and when to use it.
	Description string
	// License and Compatibility are optional.
	License, Compatibility string
	// Metadata holds what the author added, each value as it is written.
	Metadata map[string]string
	// AllowedTools are the patterns of tools that the author had in mind. They
	// are advice: nothing is granted by them.
	AllowedTools []string
	// Extra holds the fields that the standard does not know and that have a
	// plain value, as it is written.
	Extra map[string]string
	// Body is the Markdown below the header, trimmed, with LF line ends.
	Body string

	header   *yaml.Node // the mapping, or nil
	findings []finding
}

// Parse reads the text of a SKILL.md. It never fails: what is wrong is said by
// Judge. Which folder the file stands in is not known to it, so that a missing
// name is not replaced.
func Parse(data []byte) *Doc {
	d := &Doc{}
	d.parse(data)
	return d
}

func (d *Doc) parse(data []byte) {
	switch {
	case len(data) > MaxFileBytes:
		d.found("file_too_large", 0, "the file has more than %d bytes: move parts of it into files below references/", MaxFileBytes)
		return
	case !utf8.Valid(data):
		d.found("invalid_utf8", badUTF8Line(data), "the file is not UTF-8 from here on: save it as UTF-8")
		return
	}
	if rest, ok := bytes.CutPrefix(data, []byte("\ufeff")); ok {
		d.found("bom", 1, "the file begins with a byte order mark: save it as UTF-8 without one")
		data = rest
	}
	header, line, body, ok := d.split(strings.ReplaceAll(string(data), "\r\n", "\n"))
	if !ok {
		return
	}
	d.Body = strings.TrimSpace(body)
	if n := strings.Count(d.Body, "\n") + 1; n > MaxBodyLines {
		d.found("body_too_long", 0, "the body has %d lines: more than %d are better divided into files below references/", n, MaxBodyLines)
	}
	if d.header = d.readHeader(header, line); d.header != nil {
		d.readFields()
	}
}

func badUTF8Line(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r == utf8.RuneError && n == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		data = data[n:]
	}
	return line
}

// fence reports whether a line begins or ends a header: three dashes, and
// nothing but blanks after them.
func fence(line string) bool { return strings.TrimRight(line, " \t") == "---" }

// split takes the header between two fences off the body. line is where the
// header begins, counted from 0.
func (d *Doc) split(text string) (header string, line int, body string, ok bool) {
	rest := text
	for {
		first, after, more := strings.Cut(rest, "\n")
		if fence(first) {
			rest = after
			break
		}
		if !more || strings.TrimSpace(first) != "" {
			d.found("no_frontmatter", 1, "the file has to begin with a line of three dashes, then name: and description:, then another such line")
			return "", 0, "", false
		}
		rest = after
		line++
	}
	if line > 0 {
		d.found("leading_blank", 1, "the first line of the file has to be the three dashes: take out the blank lines before them")
	}
	line++
	for at := 0; at < len(rest); {
		text, _, more := strings.Cut(rest[at:], "\n")
		if fence(text) {
			return rest[:at], line, rest[min(at+len(text)+1, len(rest)):], true
		}
		if !more {
			break
		}
		at += len(text) + 1
	}
	d.found("unclosed_frontmatter", line, "the header that begins here has no end: put a line of three dashes after its last field")
	return "", 0, "", false
}
