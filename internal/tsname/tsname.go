// Package tsname converts the names of MCP servers and tools, which may contain any character, to
// TypeScript identifiers, folder names and tool id prefixes.
package tsname

import (
	"strconv"
	"strings"
	"unicode"
)

// Prefix returns a server's tool id prefix: every run of characters other than ASCII letters and
// digits becomes one "_", and is removed at the end. So the prefix never contains the "__" that
// separates it in an id, and no tool's name makes the id of a tool of another server. A name
// without letters and digits becomes as many "_", an empty one a single one.
func Prefix(server string) string {
	parts := strings.FieldsFunc(server, func(r rune) bool { return !isASCIIAlnum(r) })
	switch {
	case len(parts) == 0:
		return mapOr(server, "_", func(rune) rune { return '_' })
	case strings.HasPrefix(server, parts[0]):
		return strings.Join(parts, "_")
	}
	return "_" + strings.Join(parts, "_")
}

// Folder returns a server's folder name: everything but A-Za-z0-9._- becomes "-", and names with a
// special meaning in file systems ("." and "..") are changed.
func Folder(server string) string {
	f := mapOr(server, "-", func(r rune) rune {
		if isASCIIAlnum(r) || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	})
	if strings.Trim(f, ".") == "" {
		return strings.Repeat("-", len(f))
	}
	return f
}

// Func returns the camelCase function name of a tool.
func Func(tool string) string {
	name := camel(tool)
	if name == "" {
		name = "tool"
	}
	if reserved[name] || wrapperNames[name] || members[name] {
		name += "_"
	}
	return name
}

// Namespace returns the camelCase identifier of a server. Identifiers that would hide a global of
// the language or the runtime get a trailing "_".
func Namespace(server string) string {
	name := camel(server)
	if name == "" {
		name = "server"
	}
	if reserved[name] || wrapperNames[name] || globals[name] {
		name += "_"
	}
	return name
}

// Type returns the name of a type in PascalCase that is neither a word of the language nor a name
// that generated files use.
func Type(name string) string {
	name = camel(name)
	if name == "" {
		name = "type"
	}
	r := []rune(name)
	r[0] = unicode.ToUpper(r[0])
	if name = string(r); reserved[name] || wrapperNames[name] || globals[name] {
		name += "_"
	}
	return name
}

// Snake returns the snake_case name of a tool in ASCII, for Python: listIssues and list-issues
// become list_issues. It may be empty.
func Snake(name string) string {
	var b strings.Builder
	before := rune(0)
	for _, r := range name {
		switch {
		case 'A' <= r && r <= 'Z':
			if 'a' <= before && before <= 'z' || '0' <= before && before <= '9' {
				b.WriteByte('_')
			}
			b.WriteRune(r - 'A' + 'a')
		case isASCIIAlnum(r):
			b.WriteRune(r)
		case before != '_':
			b.WriteByte('_')
			r = '_'
		default:
			r = '_'
		}
		before = r
	}
	snake := strings.Trim(b.String(), "_")
	if snake != "" && snake[0] <= '9' {
		snake = "_" + snake
	}
	return snake
}

// camel joins the runs of identifier characters of s in camelCase. A first part in capitals is
// lowered (GET_user becomes getUser), and a leading digit gets the prefix "_".
func camel(s string) string {
	parts := strings.FieldsFunc(s, func(r rune) bool {
		return r == '_' || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	var b strings.Builder
	for i, p := range parts {
		r := []rune(p)
		if i == 0 {
			if strings.ToUpper(p) == p {
				r = []rune(strings.ToLower(p))
			} else {
				r[0] = unicode.ToLower(r[0])
			}
		} else {
			r[0] = unicode.ToUpper(r[0])
		}
		b.WriteString(string(r))
	}
	name := b.String()
	if name != "" && unicode.IsDigit([]rune(name)[0]) {
		name = "_" + name
	}
	return name
}

func isASCIIAlnum(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

func mapOr(s, empty string, f func(rune) rune) string {
	if s == "" {
		return empty
	}
	return strings.Map(f, s)
}

// A Set makes names unique, ignoring case. The zero value is ready to use; it is not safe for
// concurrent use.
type Set struct{ taken map[string]bool }

// Add adds and returns name, or name with the first free suffix "_2", "_3" and so on.
func (s *Set) Add(name string) string {
	if s.taken == nil {
		s.taken = make(map[string]bool)
	}
	free := name
	for n := 2; s.taken[strings.ToLower(free)]; n++ {
		free = name + "_" + strconv.Itoa(n)
	}
	s.taken[strings.ToLower(free)] = true
	return free
}

// IsIdentifier reports whether s can be a property name without quotes.
func IsIdentifier(s string) bool {
	for i, r := range s {
		if r != '_' && r != '$' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != ""
}

func words(s string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// reserved are the words of ECMAScript 2022 and TypeScript that cannot name a
// function or a binding in a module.
var reserved = words(`await break case catch class const continue debugger default delete do else enum
	export extends false finally for function if implements import in instanceof interface let new
	null package private protected public return static super switch this throw true try typeof var
	void while with yield arguments eval undefined NaN Infinity`)

// wrapperNames are the names that generated wrapper files use themselves.
var wrapperNames = words(`callMCPTool Input Output Promise Record index ToolError`)

// members are names that the language itself reads from an object: a namespace with one of them
// would be called when it is awaited, printed or converted to a string.
var members = words(`then toJSON toString toLocaleString valueOf constructor prototype hasOwnProperty
	isPrototypeOf propertyIsEnumerable`)

// globals are the names in the scope of a script: the language's, and the broker's.
var globals = words(`Array ArrayBuffer BigInt BigInt64Array BigUint64Array Boolean DataView Date Error
	EvalError Float32Array Float64Array Function Int16Array Int32Array Int8Array Intl Iterator JSON Map
	Math Number Object Proxy RangeError ReferenceError Reflect RegExp Set String Symbol SyntaxError
	TypeError URIError URL URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap
	WeakRef WeakSet AbortController AbortSignal AggregateError Buffer TextDecoder TextEncoder atob btoa
	clearInterval clearTimeout clearImmediate console crypto decodeURI decodeURIComponent encodeURI
	encodeURIComponent escape unescape fetch global globalThis isFinite isNaN parseFloat parseInt
	performance process queueMicrotask require module exports setImmediate setInterval setTimeout
	structuredClone self window document servers tools store results retry skills scripts helpers fs path`)
