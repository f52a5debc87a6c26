package typecheck

import (
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// Scripts are JavaScript for the most part, and much of it that runs well is
// wrong by the rules of a typed language: objects grow, variables change their
// type, a string that is never another is still a string. So an error blocks
// only if the script cannot mean what it says whatever the types of its own
// values are: a promise that is used as its value, a name that a module does
// not have, and an argument of a tool that is of the wrong kind for certain.

// A judge decides which errors of one script block.
type judge struct {
	text     string
	brackets []bracket
	// called are the functions of tools that the script imports, spaces what
	// has such functions as members.
	called, spaces map[string]bool
	// shapes are the types that the tree exports and the script does not declare.
	shapes map[string]bool
	// assigned are the names of variables and properties that get several values, so
	// that their type is only a guess.
	assigned map[string]bool
}

var (
	fromServers = lazyregexp.New(`import\s*(?:\{([^}]*)\}|\*\s*as\s+([\w$]+))\s*from\s*['"][^'"]*\bservers/`)
	exported    = lazyregexp.New(`(?m)^export (?:declare )?(?:type|interface) ([\w$]+)`)
	declared    = lazyregexp.New(`\b(?:const|let|var|function|class|type|interface|enum)\s+([\w$]+)`)
	assignment  = lazyregexp.New(`(?:(const)\s+)?([\w$]+)['"]?\s*\]?\s*(?:\*\*|\?\?|\|\||&&|[-+*/%&|^])?=(?:[^=>]|$)`)
	stepped     = lazyregexp.New(`([\w$]+)\s*(?:\+\+|--)`)
	words       = lazyregexp.New(`[\w$]+`)
)

func newJudge(p Program) *judge {
	j := &judge{text: p.Source, called: make(map[string]bool), spaces: make(map[string]bool), shapes: make(map[string]bool), assigned: make(map[string]bool)}
	for _, name := range p.Namespaces {
		j.spaces[name] = true
	}
	for name, data := range p.Files {
		if strings.HasPrefix(name, "servers/") {
			for _, m := range exported.FindAllSubmatch(data, -1) {
				j.shapes[string(m[1])] = true
			}
		}
	}
	for _, m := range declared.FindAllStringSubmatch(p.Source, -1) {
		delete(j.spaces, m[1])
		delete(j.shapes, m[1])
	}
	for _, m := range fromServers.FindAllStringSubmatch(p.Source, -1) {
		if m[2] != "" {
			j.spaces[m[2]] = true
		}
		for name := range strings.SplitSeq(m[1], ",") {
			if f := strings.Fields(name); len(f) > 0 {
				j.called[f[len(f)-1]] = true
			}
		}
	}
	for _, m := range assignment.FindAllStringSubmatch(p.Source, -1) {
		if m[1] == "" {
			j.assigned[m[2]] = true
		}
	}
	for _, m := range stepped.FindAllStringSubmatch(p.Source, -1) {
		j.assigned[m[1]] = true
	}
	j.brackets = bracketsOf(p.Source)
	return j
}

// blocks decides about one error with these lines in its message.
func (j *judge) blocks(code, offset int, lines []string) bool {
	switch code {
	case 2304, 2552, 2305, 2724, 2801: // a name that is not there, a promise as a condition
		return true
	case 2488:
		return promised.MatchString(lines[0])
	case 2339, 2551:
		return j.lacking(offset, lines[0])
	case 2353, 2561:
		return j.argument(offset) != ""
	case 2322, 2345, 2739, 2740, 2741, 2820:
		arg := j.argument(offset)
		return arg != "" && j.wrong(arg, lines[len(lines)-1], lines)
	}
	return false
}

var lackingOn = lazyregexp.New(`^Property '[^']*' does not exist on type '(.*?)'\.(?: Did you mean .*)?$`)

// lacking judges an access to a member that a type does not have.
func (j *judge) lacking(offset int, line string) bool {
	m := lackingOn.FindStringSubmatch(line)
	name := words.FindString(j.text[offset:])
	if m == nil || name == "" || j.writes(offset, name) {
		return false
	}
	if strings.HasPrefix(m[1], "typeof import(") {
		return !strings.Contains(m[1], " | ") && !strings.Contains(m[1], " & ")
	}
	if strings.HasPrefix(m[1], "Promise<") {
		return closesAtEnd(m[1])
	}
	if !j.shapes[m[1]] {
		return false
	}
	return !j.expects(name)
}

var (
	written = lazyregexp.New(`^\s*(?:\*\*|\?\?|\|\||&&|[-+*/%&|^])?=(?:[^=>]|$)`)
	guarded = lazyregexp.New(`^\s*(?:\?|\|\||&&|[!=]=|\)\s*(?:[{?]|&&|\|\|)|\)[ \t]*[A-Za-z])`)
)

// writes reports whether the member at offset is assigned to.
func (j *judge) writes(offset int, name string) bool {
	return written.MatchString(j.text[offset+len(name):])
}

// expects reports whether the script knows that a member may be absent: it
// tests its value somewhere, or has its own use for the name, and so may have
// put it there.
func (j *judge) expects(name string) bool {
	for _, at := range words.FindAllStringIndex(j.text, -1) {
		if j.text[at[0]:at[1]] != name {
			continue
		}
		before := strings.TrimRight(j.text[:at[0]], " \t\r\n")
		if !strings.HasSuffix(before, ".") || guarded.MatchString(j.text[at[1]:]) {
			return true
		}
	}
	return j.assigned[name]
}

// closesAtEnd reports whether the last character of a type closes its first bracket, so
// that it is not a union.
func closesAtEnd(typ string) bool {
	depth := 0
	for i := range len(typ) {
		switch typ[i] {
		case '<':
			depth++
		case '>':
			if i > 0 && typ[i-1] == '=' {
				continue
			}
			if depth--; depth == 0 {
				return i == len(typ)-1
			}
		}
	}
	return false
}

// argument returns the text of the property or argument at offset, if it is
// written in the call of a tool and not in some other call inside it; else "".
func (j *judge) argument(offset int) string {
	for i := len(j.brackets) - 1; i >= 0; i-- {
		b := j.brackets[i]
		if offset <= b.start || offset >= b.end {
			continue
		}
		switch {
		case b.char == '(' && !j.calls(j.text[:b.start]):
			return ""
		case b.char == '(':
			return j.value(offset)
		case b.body:
			return ""
		}
	}
	return ""
}

var callee = lazyregexp.New(`(?:^|[^\w$.\s])\s*(?:(?:await|return|yield)\s+)?(?:(?:tools\s*\.\s*)?([\w$]+)\s*\.\s*)?([\w$]+)\s*$`)

// calls reports whether the text before a parenthesis names a tool.
func (j *judge) calls(before string) bool {
	line := before[max(0, len(before)-300):]
	m := callee.FindStringSubmatch(line)
	if m == nil {
		m = afterWord.FindStringSubmatch(line)
	}
	switch {
	case m == nil:
		return false
	case m[1] != "":
		return j.spaces[m[1]]
	}
	return j.called[m[2]]
}

// afterWord is a callee at the start of a statement, after one without a
// semicolon.
var afterWord = lazyregexp.New(`\n\s*(?:(?:await|return|yield)\s+)?(?:(?:tools\s*\.\s*)?([\w$]+)\s*\.\s*)?([\w$]+)\s*$`)

// value is the text from offset to the comma or bracket that ends it.
func (j *judge) value(offset int) string {
	end := offset
	for end < len(j.text) {
		if i := slices.IndexFunc(j.brackets, func(b bracket) bool { return b.start == end }); i >= 0 {
			end = j.brackets[i].end + 1
			continue
		}
		if c := j.text[end]; c == ',' || c == ')' || c == '}' || c == ']' || c == ';' {
			break
		}
		end++
	}
	return j.text[offset:min(end, len(j.text))]
}

var (
	mismatch = lazyregexp.New(`^(?:Argument of type|Type) '(.*)' is not assignable to (?:parameter of )?type '(.*?)'\.(?: Did you mean .*)?$`)
	absent   = lazyregexp.New(`^(?:Type|Property) .* (?:is missing in type|is missing the following properties|are missing in type)`)
	plain    = lazyregexp.New(`^(?:string|number|boolean)(?:\[\])*$`)
	literal  = lazyregexp.New(`^(?:"[^"|]*"|-?[\d.]+|true|false)$`)
)

// wrong reports whether an argument is wrong whatever the compiler does not
// know of JavaScript. last is the innermost reason that it gives.
func (j *judge) wrong(arg, last string, lines []string) bool {
	if absent.MatchString(last) {
		return strings.HasPrefix(arg, "{") && !strings.Contains(arg, "...") && !strings.Contains(arg, "[")
	}
	for _, line := range lines {
		if m := mismatch.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[1], "{") && strings.Contains(m[1], " | ") {
			return false // one of them may be right
		}
	}
	for _, w := range words.FindAllString(arg, -1) {
		if j.assigned[w] {
			return false
		}
	}
	m := mismatch.FindStringSubmatch(last)
	if m == nil {
		return false
	}
	from, to := m[1], m[2]
	switch {
	case to == "never" || to == "null" || to == "undefined":
		return false
	case literal.MatchString(from), strings.HasPrefix(from, "Promise<"):
		return true
	case plain.MatchString(from):
		return wide(to)
	}
	return false
}

// wide reports whether a type has no member that is a literal, or a name that
// may stand for some: a variable of such a type is a string, say, to the
// compiler, though it only ever has the right ones.
func wide(typ string) bool {
	for part := range strings.SplitSeq(typ, " | ") {
		switch strings.TrimRight(part, "[]") {
		case "string", "number", "boolean", "undefined", "null":
		default:
			return false
		}
	}
	return true
}
