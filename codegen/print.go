package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

// A style selects the parts of a type that are written. The zero style writes
// everything on one line, without comments.
type style struct {
	lines       bool   // one field per line in an object that is long or has comments
	docs        bool   // full comments before fields
	joined      bool   // each of them on one line
	brief       int    // short comments after fields, with at most this much of each description
	briefTo     int    // objects nested deeper have none
	enumMax     int    // literals of a union that are shown; zero means all
	depth       int    // objects nested deeper are written "object"; zero means no limit
	required    bool   // optional fields of the outermost object are only counted
	vague       string // the name of unknown: any in the value of a call
	file        string // the file to refer to if something is left out
	compact     bool   // no blanks, single quotes, and only the names of optional strings, numbers and booleans
	bare        bool   // only the names of required strings, and no undeclared keys
	names       bool   // only the names of all optional fields
	maxOptional int    // optional fields of an object that are shown; zero means all
	// named reports whether a reference is written as a name; others are expanded. Nil expands
	// all.
	named func(*named) bool
}

const (
	// lineMax is the width beyond which an object gets one line per field.
	lineMax = 90
	// expandMax stops the expansion of references that multiply.
	expandMax = 64 << 10
)

// A printer writes types as TypeScript.
type printer struct {
	style
	b         strings.Builder
	indent    int
	lineStart int
	level     int // nesting of objects
	limit     int // failed is set if more than this is written; zero means no limit
	failed    bool
	commented bool // a comment ends the line, so the semicolon precedes it
	expanding []*named
}

func (s style) print(t *typ) string {
	p := &printer{style: s}
	p.typ(t, kindUnknown)
	return p.b.String()
}

func (p *printer) newline() {
	p.b.WriteByte('\n')
	p.lineStart = p.b.Len()
	for range p.indent {
		p.b.WriteString("  ")
	}
}

// flat returns t on one line, if it fits there and loses no comment.
func (p *printer) flat(t *typ, limit int) (string, bool) {
	q := &printer{style: p.style, limit: limit, level: p.level, expanding: p.expanding}
	q.lines = false
	q.typ(t, kindUnknown)
	return q.b.String(), !q.failed && q.b.Len() <= limit
}

// typ writes t as part of an array, a union, or an intersection, with parentheses if needed.
func (p *printer) typ(t *typ, inside kind) {
	if p.failed || p.limit > 0 && p.b.Len() > p.limit {
		p.failed = true
		return
	}
	if t.kind == kindRef {
		p.reference(t, inside)
		return
	}
	torn := t.kind == kindUnion && inside != kindUnknown && inside != kindUnion ||
		t.kind == kindInter && inside != kindUnknown && inside != kindInter
	if torn {
		p.b.WriteByte('(')
		defer p.b.WriteByte(')')
	}
	switch t.kind {
	case kindUnknown:
		p.b.WriteString(p.vagueName())
	case kindNever:
		p.b.WriteString("never")
	case kindString:
		p.b.WriteString("string")
	case kindNumber:
		p.b.WriteString("number")
	case kindBoolean:
		p.b.WriteString("boolean")
	case kindNull:
		p.b.WriteString("null")
	case kindLiteral:
		p.literal(t.lit)
	case kindArray:
		p.typ(t.elem, kindArray)
		p.b.WriteString("[]")
	case kindTuple:
		p.tuple(t)
	case kindObject:
		p.object(t)
	case kindUnion:
		p.union(t)
	case kindInter:
		for i, item := range t.items {
			if i > 0 {
				p.b.WriteString(p.spaced(" & "))
			}
			p.typ(item, kindInter)
		}
	}
}

// literal writes a value. In an answer, which is JSON, a single quote takes one byte and a double
// quote two.
func (p *printer) literal(v value) {
	if s, ok := v.(string); ok && p.compact {
		p.b.WriteString(singleQuoted(s))
		return
	}
	p.b.WriteString(encode(v))
}

func (p *printer) key(name string) string {
	if p.compact && !tsname.IsIdentifier(name) {
		return singleQuoted(name)
	}
	return key(name)
}

func singleQuoted(s string) string {
	if plainText(s) && !strings.Contains(s, "'") {
		return "'" + s + "'"
	}
	return quote(s)
}

func (p *printer) vagueName() string {
	if p.vague != "" {
		return p.vague
	}
	return "unknown"
}

func (p *printer) reference(t *typ, inside kind) {
	n := t.ref
	switch {
	case p.isNamed(t):
		p.b.WriteString(n.name)
	case slices.Contains(p.expanding, n) || p.b.Len() > expandMax || len(p.expanding) > maxDepth:
		p.b.WriteString(p.vagueName())
	default:
		p.expanding = append(p.expanding, n)
		p.typ(n.typ, inside)
		p.expanding = p.expanding[:len(p.expanding)-1]
	}
}

// isNamed reports whether t is written as a name.
func (p *printer) isNamed(t *typ) bool {
	return t.kind == kindRef && !primitive(t.ref.typ) && p.named != nil && p.named(t.ref)
}

func (p *printer) tuple(t *typ) {
	p.b.WriteByte('[')
	for i, item := range t.items {
		if i > 0 {
			p.b.WriteString(", ")
		}
		if i < t.min {
			p.typ(item, kindUnknown)
			continue
		}
		p.typ(item, kindArray)
		p.b.WriteByte('?')
	}
	if t.elem != nil {
		if len(t.items) > 0 {
			p.b.WriteString(", ")
		}
		p.b.WriteString("...")
		p.typ(t.elem, kindArray)
		p.b.WriteString("[]")
	}
	p.b.WriteByte(']')
}

func (p *printer) union(t *typ) {
	shown, left := 0, 0
	written := false
	var cuts []string
	for _, item := range t.items {
		if cut := p.cut(target(item)); cut != "" && !p.isNamed(item) {
			if slices.Contains(cuts, cut) {
				continue
			}
			cuts = append(cuts, cut)
		}
		if item.kind == kindLiteral {
			if shown++; p.enumMax > 0 && shown > p.enumMax {
				left++
				continue
			}
		}
		if written {
			if p.lines && p.b.Len()-p.lineStart > lineMax+20 {
				p.indent++
				p.newline()
				p.indent--
				p.b.WriteString("| ")
			} else {
				p.b.WriteString(p.spaced(" | "))
			}
		}
		p.typ(item, kindUnion)
		written = true
	}
	if left > 0 {
		p.b.WriteString(p.spaced(fmt.Sprintf(" /* …%d more%s */", left, p.see())))
	}
}

// spaced returns punctuation with its blanks, which a tight style leaves out.
func (p *printer) spaced(text string) string {
	if p.compact {
		return strings.TrimSpace(text)
	}
	return text
}

func (p *printer) see() string {
	if p.file == "" {
		return ""
	}
	return ", see " + p.file
}

func (p *printer) object(t *typ) {
	if len(t.fields) == 0 {
		p.record(t)
		return
	}
	if cut := p.cut(t); cut != "" {
		p.b.WriteString(cut)
		return
	}
	if p.lines {
		if s, ok := p.flat(t, lineMax-min(lineMax/2, 2*p.indent)); ok {
			p.b.WriteString(s)
			return
		}
	}
	p.level++
	p.indent++
	p.b.WriteByte('{')
	n, left, optional := 0, 0, 0
	for _, f := range t.fields {
		if f.optional {
			if optional++; p.required && p.level == 1 || p.maxOptional > 0 && optional > p.maxOptional {
				left++
				continue
			}
		}
		p.field(f, n)
		n++
	}
	if t.rest != nil && !p.bare {
		p.separate(n)
		p.b.WriteString("[key: string]: ")
		p.typ(t.rest, kindUnknown)
		if t.restOptional && t.rest.kind != kindUnknown {
			p.b.WriteString(" | undefined")
		}
		n++
	}
	if left > 0 {
		p.separate(n)
		if p.compact {
			fmt.Fprintf(&p.b, "/*+%d*/", left)
		} else {
			fmt.Fprintf(&p.b, "/* …%d optional */", left)
		}
	}
	p.indent--
	p.level--
	if p.lines {
		if n > 0 && left == 0 && !p.commented {
			p.b.WriteByte(';')
		}
		p.newline()
	} else if !p.compact {
		p.b.WriteByte(' ')
	}
	p.commented = false
	p.b.WriteByte('}')
}

// cut returns the replacement of an object that is not written, such as one that is nested too
// deep; "" if it is written.
func (p *printer) cut(t *typ) string {
	tooDeep := p.depth > 0 && p.level >= p.depth
	switch {
	case t.kind != kindObject || len(t.fields) == 0 || !tooDeep && !p.compact:
	case isReference(t) && p.compact:
		return "{type;mimeType;size;ref}"
	case isReference(t):
		return "{ type; mimeType; size; ref }"
	case tooDeep:
		return "object"
	}
	return ""
}

// separate begins the nth member of an object.
func (p *printer) separate(n int) {
	switch {
	case n > 0 && p.lines && !p.commented:
		p.b.WriteByte(';')
	case n > 0 && !p.lines:
		p.b.WriteByte(';')
	}
	p.commented = false
	if p.lines {
		p.newline()
	} else if !p.compact {
		p.b.WriteByte(' ')
	}
}

func (p *printer) field(f field, n int) {
	brief := ""
	if p.brief > 0 && p.level <= p.briefTo {
		brief = f.doc.brief(p.brief)
	}
	if !p.lines && (brief != "" || p.docs && f.doc != nil) {
		p.failed = true // a comment needs lines
		return
	}
	p.separate(n)
	if p.docs && f.doc != nil {
		p.comment(f.doc)
		p.newline()
	}
	p.b.WriteString(p.key(f.name))
	if f.optional {
		p.b.WriteByte('?')
		if p.names || p.compact && nameSays(f.typ) {
			return
		}
	} else if p.bare && f.typ.kind == kindString {
		return
	}
	p.b.WriteString(p.spaced(": "))
	p.typ(f.typ, kindUnknown)
	if brief != "" {
		p.b.WriteString("; // " + brief)
		p.commented = true
	}
}

// nameSays reports whether the name of an optional field is enough: it accepts a string, a number,
// a boolean, or anything.
func nameSays(t *typ) bool {
	switch t.kind {
	case kindUnknown, kindString, kindNumber, kindBoolean, kindNull:
		return true
	case kindUnion:
		return !slices.ContainsFunc(t.items, func(item *typ) bool { return !nameSays(item) })
	}
	return false
}

// record writes an object without declared keys.
func (p *printer) record(t *typ) {
	if t.rest == nil {
		p.b.WriteString("Record<string, never>")
		return
	}
	if !refers(t.rest, 4) {
		p.b.WriteString(p.spaced("Record<string, "))
		p.typ(t.rest, kindUnknown)
		p.b.WriteByte('>')
		return
	}
	// Record is an alias itself, and an alias cannot refer to itself in the arguments of another.
	p.b.WriteString("{ [key: string]: ")
	p.typ(t.rest, kindUnknown)
	p.b.WriteString(" }")
}

// refers reports whether t contains, or may contain, a reference.
func refers(t *typ, depth int) bool {
	if t.kind == kindRef || depth == 0 {
		return true
	}
	deeper := func(t *typ) bool { return refers(t, depth-1) }
	return t.elem != nil && deeper(t.elem) || slices.ContainsFunc(t.items, deeper) ||
		t.rest != nil && deeper(t.rest) || slices.ContainsFunc(t.fields, func(f field) bool { return deeper(f.typ) })
}

// comment writes a JSDoc comment, on one line if possible.
func (p *printer) comment(d *doc) {
	var lines []string
	if d.text != "" {
		lines = strings.Split(d.text, "\n")
	}
	for _, f := range d.facts {
		lines = append(lines, strings.Split(strings.TrimSpace("@"+f.tag+" "+f.text), "\n")...)
	}
	if p.joined {
		lines = []string{strings.Join(strings.Fields(strings.Join(lines, " ")), " ")}
	}
	if len(lines) == 1 && (p.joined || len(lines[0]) <= 110) {
		p.b.WriteString("/** " + lines[0] + " */")
		return
	}
	p.b.WriteString("/**")
	for _, line := range lines {
		p.newline()
		p.b.WriteString(strings.TrimRight(" * "+line, " \t"))
	}
	p.newline()
	p.b.WriteString(" */")
}

// key returns a property name as TypeScript writes it.
func key(name string) string {
	if tsname.IsIdentifier(name) {
		return name
	}
	return quote(name)
}
