package script

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// An Input is what main takes.
type Input struct {
	// Type is how it is written in TypeScript.
	Type string `json:"type"`
	// Schema is a JSON Schema of it; one that accepts everything if the type is
	// more than object literals, arrays, unions and primitive types.
	Schema json.RawMessage `json:"schema"`
	// Optional means that it may be left out.
	Optional bool `json:"optional,omitempty"`
}

const (
	maxType  = 16 << 10 // bytes of a type that are read
	maxDepth = 20       // of types in types
	maxShown = 400      // bytes of a type that are shown
)

// mainShape finds the function main of a script, up to its parameters.
var mainShape = lazyregexp.New(`(?m)^[ \t]*export\s+(?:default\s+)?(?:async\s+)?function\s+main\s*(?:<[^>(]*>)?\(|^[ \t]*export\s+const\s+main\s*=\s*(?:async\s*)?\(`)

// hasMain reports whether a script has a function main that others can call.
func hasMain(code string) bool { return mainShape.MatchString(code) }

// inputOf returns the input of the function main of a script, or nil.
func inputOf(code string) *Input {
	at := mainShape.FindStringIndex(code)
	if at == nil {
		return nil
	}
	p := &types{code: code, src: code[at[1]:min(len(code), at[1]+maxType)]}
	p.next()
	if p.tok == ")" || p.tok == "" {
		return nil
	}
	in := &Input{Type: "any", Schema: json.RawMessage("{}")}
	switch p.tok {
	case "{", "[":
		if !p.skipBalanced() {
			return in
		}
	default:
		p.next()
	}
	if p.tok == "?" {
		in.Optional = true
		p.next()
	}
	if p.tok != ":" {
		in.Optional = in.Optional || p.tok == "="
		return in
	}
	from := p.pos
	p.next()
	s, err := p.typ()
	if err == nil && p.tok != ")" && p.tok != "," && p.tok != "=" {
		err = errType
	}
	if err != nil {
		return in
	}
	in.Optional = in.Optional || p.tok == "="
	in.Type = oneLine(p.src[from:p.start])
	if alias := p.alias[in.Type]; alias != "" {
		in.Type = oneLine(alias)
	}
	in.Schema, _ = json.Marshal(s) // made of maps and texts
	return in
}

// oneLine is a type on one line, without comments.
func oneLine(typ string) string {
	typ = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`).ReplaceAllString(typ, "")
	typ = regexp.MustCompile(`\n\s*`).ReplaceAllString(strings.TrimSpace(typ), " ")
	typ = regexp.MustCompile(`([^;,{ ]) }`).ReplaceAllString(typ, "$1 }")
	typ = regexp.MustCompile(`[;,]\s*}`).ReplaceAllString(typ, " }")
	typ = strings.Join(strings.Fields(typ), " ")
	if len(typ) > maxShown {
		return "any"
	}
	return typ
}

var errType = errors.New("a type that is not read")

// types reads types of TypeScript: object literals, arrays, unions, literals and
// primitive types, and names of such types in the same file.
type types struct {
	code  string // the file
	src   string // what is read
	pos   int    // after tok
	start int    // of tok
	tok   string
	doc   string // the comment before tok, if it is one for readers
	line  bool   // there is a line break before tok
	depth int
	alias map[string]string
}

var token = lazyregexp.New(`^(?:[A-Za-z_$][\w$]*|-?\d+(?:\.\d+)?|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|=>|[^\s])`)

// next reads the next token; "" is the end.
func (p *types) next() {
	p.doc, p.line = "", false
	for p.pos < len(p.src) {
		rest := p.src[p.pos:]
		switch {
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\n':
			p.line = p.line || rest[0] == '\n'
			p.pos++
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest+"\n", '\n')
			p.pos += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest, "*/")
			if end < 0 {
				p.pos = len(p.src)
				break
			}
			if strings.HasPrefix(rest, "/**") {
				p.doc = strings.Join(strings.Fields(strings.ReplaceAll(strings.Trim(rest[3:end], "*"), "\n *", "\n")), " ")
			}
			p.pos += end + 2
		default:
			p.start = p.pos
			p.tok = token.FindString(rest)
			p.pos += len(p.tok)
			return
		}
	}
	p.start, p.tok = len(p.src), ""
}

// skipBalanced passes over brackets, with all that is in them.
func (p *types) skipBalanced() bool {
	for depth := 0; p.tok != ""; p.next() {
		switch p.tok {
		case "{", "[", "(":
			depth++
		case "}", "]", ")":
			if depth--; depth == 0 {
				p.next()
				return true
			}
		}
	}
	return false
}

type schema map[string]any

// typ reads a type, and the token after it.
func (p *types) typ() (schema, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errType
	}
	defer func() { p.depth-- }()
	if p.tok == "|" {
		p.next()
	}
	var all []schema
	for {
		s, err := p.element()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
		if p.tok != "|" {
			break
		}
		p.next()
	}
	if p.tok == "&" || p.tok == "=>" || p.tok == "extends" {
		return nil, errType
	}
	return union(all), nil
}

// union is a type that is one of several.
func union(all []schema) schema {
	all = slices.DeleteFunc(all, func(s schema) bool { return s["not"] != nil }) // undefined
	if len(all) == 1 {
		return all[0]
	}
	var values []any
	var any []any
	for _, s := range all {
		if len(s) == 0 {
			return schema{}
		}
		any = append(any, s)
		if v, ok := s["const"]; ok {
			values = append(values, v)
		}
	}
	if len(values) == len(all) && len(values) > 0 {
		return schema{"enum": values}
	}
	return schema{"anyOf": any}
}

// element is a type without unions, and the brackets of arrays after it.
func (p *types) element() (schema, error) {
	s, err := p.primary()
	for err == nil && p.tok == "[" && !p.line {
		if p.next(); p.tok != "]" {
			return nil, errType
		}
		s = schema{"type": "array", "items": s}
		p.next()
	}
	return s, err
}

func (p *types) primary() (schema, error) {
	word := p.tok
	switch {
	case word == "":
		return nil, errType
	case word == "{":
		return p.object()
	case word == "(":
		p.next()
		s, err := p.typ()
		if err != nil || p.tok != ")" {
			return nil, errType
		}
		p.next()
		return s, nil
	case word[0] == '"' || word[0] == '\'':
		p.next()
		text, err := unquote(word)
		return schema{"const": text}, err
	case word[0] == '-' && len(word) > 1 || '0' <= word[0] && word[0] <= '9':
		p.next()
		if !json.Valid([]byte(word)) { // such as 007
			return nil, errType
		}
		return schema{"const": json.Number(word)}, nil
	}
	p.next()
	switch word {
	case "string", "number", "boolean", "null":
		return schema{"type": word}, nil
	case "true", "false":
		return schema{"const": word == "true"}, nil
	case "undefined":
		return schema{"not": schema{}}, nil
	case "any", "unknown":
		return schema{}, nil
	case "object":
		return schema{"type": "object"}, nil
	case "Array", "ReadonlyArray":
		return p.generic(1)
	case "Record":
		return p.generic(2)
	case "readonly":
		return p.element()
	}
	return p.named(word)
}

// generic reads the arguments of Array<T> and of Record<string, T>.
func (p *types) generic(n int) (schema, error) {
	if p.tok != "<" {
		return nil, errType
	}
	var last schema
	for i := range n {
		p.next()
		var err error
		if last, err = p.typ(); err != nil {
			return nil, err
		}
		if want := map[bool]string{true: ">", false: ","}[i == n-1]; p.tok != want {
			return nil, errType
		}
	}
	p.next()
	if n == 1 {
		return schema{"type": "array", "items": last}, nil
	}
	return schema{"type": "object", "additionalProperties": last}, nil
}

// named is a type or an interface of the same file.
func (p *types) named(name string) (schema, error) {
	if !regexp.MustCompile(`^[A-Za-z_$][\w$]*$`).MatchString(name) || p.tok == "<" || p.tok == "." {
		return nil, errType
	}
	at := regexp.MustCompile(`(?m)^[ \t]*(?:export\s+)?(?:type\s+` + regexp.QuoteMeta(name) + `\s*=|interface\s+` + regexp.QuoteMeta(name) + `\s*\{)`).FindStringIndex(p.code)
	if at == nil {
		return nil, errType
	}
	begin := at[1]
	if p.code[begin-1] == '{' {
		begin--
	}
	inner := &types{code: p.code, src: p.code[begin:min(len(p.code), begin+maxType)], depth: p.depth}
	inner.next()
	s, err := inner.typ()
	if err != nil {
		return nil, err
	}
	if p.alias == nil {
		p.alias = make(map[string]string)
	}
	p.alias[name] = inner.src[:inner.start]
	if i := strings.LastIndexAny(p.alias[name], "};"); i >= 0 && p.code[begin] == '{' {
		p.alias[name] = p.alias[name][:i+1]
	}
	p.alias[name] = strings.TrimRight(strings.TrimSpace(p.alias[name]), ";")
	return s, nil
}

// object reads an object type after its "{".
func (p *types) object() (schema, error) {
	properties, required := make(map[string]any), []string{}
	s := schema{"type": "object", "additionalProperties": false}
	p.next()
	for p.tok != "}" {
		doc := p.doc
		if p.tok == "readonly" {
			p.next()
		}
		if p.tok == "[" { // [key: string]: T
			if !p.skipBalanced() || p.tok != ":" {
				return nil, errType
			}
			p.next()
			other, err := p.typ()
			if err != nil {
				return nil, err
			}
			s["additionalProperties"] = other
		} else if err := p.member(doc, properties, &required); err != nil {
			return nil, err
		}
		switch {
		case p.tok == ";" || p.tok == ",":
			p.next()
		case p.tok != "}" && !p.line:
			return nil, errType
		}
	}
	p.next()
	if len(properties) > 0 {
		s["properties"] = properties
	}
	if len(required) > 0 {
		s["required"] = required
	}
	return s, nil
}

// member reads one property of an object type.
func (p *types) member(doc string, properties map[string]any, required *[]string) error {
	name := p.tok
	if name == "" {
		return errType
	}
	if name[0] == '"' || name[0] == '\'' {
		var err error
		if name, err = unquote(name); err != nil {
			return err
		}
	} else if !regexp.MustCompile(`^[\w$]+$`).MatchString(name) {
		return errType
	}
	p.next()
	optional := p.tok == "?"
	if optional {
		p.next()
	}
	if p.tok != ":" {
		return errType
	}
	from := p.pos
	p.next()
	s, err := p.typ()
	if err != nil {
		return err
	}
	if regexp.MustCompile(`\|\s*undefined\b|\bundefined\s*\|`).MatchString(p.src[from:p.start]) && s["type"] != "object" {
		optional = true
	}
	if doc != "" {
		described := schema{"description": doc}
		maps.Copy(described, s)
		s = described
	}
	properties[name] = s
	if !optional {
		*required = append(*required, name)
	}
	return nil
}

// unquote is the value of a string literal.
func unquote(literal string) (string, error) {
	if len(literal) < 2 { // the quote alone
		return "", errType
	}
	if literal[0] == '\'' {
		literal = `"` + strings.ReplaceAll(strings.ReplaceAll(literal[1:len(literal)-1], `\'`, "'"), `"`, `\"`) + `"`
	}
	return strconv.Unquote(literal)
}
