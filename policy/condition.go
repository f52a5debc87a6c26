package policy

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/big"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// A truth reports whether a condition holds for a value. A value of an unexpected type is neither:
// deny and ask treat it as true, allow as false.
type truth uint8

const (
	no truth = iota
	unexpected
	yes
)

func (t truth) not() truth { return yes - t }

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// A leaf is a value of the arguments other than a list.
type leaf struct {
	kind byte   // the kind of its node
	text []byte // content of a string, or digits of a number
}

// A condition applies to the leaves of one path of the arguments.
type condition struct {
	op      byte // one of the op constants
	glob    glob // for opText
	re      *regexp.Regexp
	number  []byte  // for comparisons of numbers
	small   float64 // number as a float64, if isSmall
	isSmall bool
	flag    bool        // for opBool and opAbsent
	under   string      // a cleaned path
	inner   []condition // for lists, objects, opNot and opHost
}

// The operations of conditions.
const (
	opText    = '='
	opRegexp  = '/'
	opNumber  = '0'
	opGT      = '>'
	opGTE     = ']'
	opLT      = '<'
	opLTE     = '['
	opBool    = 'b'
	opNull    = 'n'
	opAny     = '|'
	opAll     = '&'
	opNot     = '!'
	opUnder   = 'u'
	opHost    = 'h'
	opAbsent  = 'a'
	maxRegexp = 1000
)

// condition reads a condition; within host, texts are names of hosts.
func (r *reader) condition(n node, where string, host bool) condition {
	var c condition
	switch n.kind {
	case '"':
		r.text(&c, n, where, host)
	case '0':
		c = numberCondition(opNumber, n)
	case 't', 'f':
		c.op, c.flag = opBool, n.kind == 't'
	case 'n':
		c.op = opNull
	case '[':
		c.op = opAny
		if len(n.values) == 0 {
			r.fail(n, "%s is an empty list: nothing is any of it", where)
		}
		for _, v := range n.values {
			c.inner = append(c.inner, r.condition(v, where, host))
		}
	case '{':
		r.operators(&c, n, where, host)
	}
	return c
}

func numberCondition(op byte, n node) condition {
	c := condition{op: op, number: []byte(n.text)}
	c.small, c.isSmall = smallNumber(c.number)
	return c
}

// text reads a string: a regular expression between slashes, or a text that may contain * and ?.
func (r *reader) text(c *condition, n node, where string, host bool) {
	expression, flags, ok := regexpOf(n.text)
	switch {
	case ok && len(n.text) > maxRegexp, len(n.text) > 16*maxRegexp:
		r.fail(n, "%s has a pattern of %d bytes", where, len(n.text))
	case ok:
		if flags != "" {
			expression = "(?" + flags + ")" + expression
		}
		re, err := regexp.Compile(expression)
		if err != nil {
			r.fail(n, "%s: %s is not a valid regular expression: %s (the syntax is that of RE2)", where, shown(n.text),
				strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			return
		}
		c.op, c.re = opRegexp, re
	case host && strings.ContainsAny(n.text, "/:"):
		r.fail(n, "%s: a host is a name such as %q, without scheme, port and path", where, "*.example.com")
	case host:
		c.op, c.glob = opText, plainGlob(strings.TrimSuffix(strings.ToLower(n.text), "."))
	default:
		c.op, c.glob = opText, plainGlob(n.text)
	}
}

// regexpOf splits a text of the form /expression/flags.
func regexpOf(text string) (expression, flags string, ok bool) {
	end := strings.LastIndexByte(text, '/')
	if !strings.HasPrefix(text, "/") || end < 2 {
		return "", "", false
	}
	flags = text[end+1:]
	return text[1:end], flags, strings.Trim(flags, "ims") == ""
}

func (r *reader) operators(c *condition, n node, where string, host bool) {
	c.op = opAll
	if len(n.keys) == 0 {
		r.fail(n, "%s is empty: write a value, or one of not, in, gt, gte, lt, lte, absent, under, host", where)
	}
	add := func(one condition) { c.inner = append(c.inner, one) }
	number := func(op byte) func(node) {
		return func(v node) {
			if r.isKind(v, '0', where, "compared with a number") {
				add(numberCondition(op, v))
			}
		}
	}
	seen := r.fields(n, where, map[string]func(node){
		"not": func(v node) { add(condition{op: opNot, inner: []condition{r.condition(v, where, host)}}) },
		"in": func(v node) {
			if r.isKind(v, '[', `"in" of `+where, "a list") {
				add(r.condition(v, where, host))
			}
		},
		"gt": number(opGT), "gte": number(opGTE), "lt": number(opLT), "lte": number(opLTE),
		"absent": func(v node) { add(condition{op: opAbsent, flag: r.boolean(v, `"absent" of `+where)}) },
		"under": func(v node) {
			any := condition{op: opAny}
			for _, one := range r.list(v, `"under" of `+where) {
				if one.text == "" {
					r.fail(one, `"under" of %s is empty: write a path`, where)
				}
				any.inner = append(any.inner, condition{op: opUnder, under: cleanPath(one.text)})
			}
			add(any)
		},
		"host": func(v node) { add(condition{op: opHost, inner: []condition{r.condition(v, `"host" of `+where, true)}}) },
	})
	if len(seen) < len(n.keys) && len(c.inner) == 0 && len(r.mistakes) == 0 {
		r.fail(n, "%s compares with nothing", where)
	}
	for _, one := range c.inner {
		if one.op == opAbsent && one.flag && len(c.inner) > 1 {
			r.fail(n, `%s: "absent": true excludes other conditions, since an absent argument has no value: put it into a list`, where)
			return
		}
	}
}

// end returns the offset after a value.
func (r *reader) end(n node) int {
	end, _ := jsonscan.Value(r.src.Text, n.off)
	return end
}

// isAbsent reports whether a condition holds if its path has no value; known is false if the
// condition does not say.
func (c *condition) isAbsent() (holds, known bool) {
	switch c.op {
	case opAbsent:
		return c.flag, true
	case opNot:
		holds, known = c.inner[0].isAbsent()
		return !holds && known, known
	case opAny:
		for i := range c.inner {
			h, k := c.inner[i].isAbsent()
			holds, known = holds || h, known || k
		}
	case opAll:
		holds = len(c.inner) > 0
		for i := range c.inner {
			h, k := c.inner[i].isAbsent()
			holds, known = holds && h, known || k
		}
	}
	return holds && known, known
}

// holds reports whether a condition holds for a leaf.
func (c *condition) holds(l leaf) truth {
	switch c.op {
	case opAbsent:
		if l.kind == 'n' && c.flag { // some servers treat null as absent
			return unexpected
		}
		return truthOf(!c.flag)
	case opNull:
		return truthOf(l.kind == 'n')
	case opNot:
		return c.inner[0].holds(l).not()
	case opAny:
		all := no
		for i := range c.inner {
			switch t := c.inner[i].holds(l); {
			case t == yes:
				return yes
			case i == 0 || all == unexpected:
				all = t
			}
		}
		return all
	case opAll:
		all := yes
		for i := range c.inner {
			all = min(all, c.inner[i].holds(l))
		}
		return all
	case opBool:
		if l.kind != 't' && l.kind != 'f' {
			return unexpected
		}
		return truthOf(c.flag == (l.kind == 't'))
	case opNumber, opGT, opGTE, opLT, opLTE:
		return c.compare(l)
	}
	if l.kind != '"' {
		return unexpected
	}
	switch c.op {
	case opText:
		return truthOf(c.glob.matchesBytes(l.text))
	case opRegexp:
		return truthOf(c.re.Match(l.text))
	case opUnder:
		return isUnder(l.text, c.under)
	case opHost:
		return c.host(l.text)
	}
	return unexpected
}

func (c *condition) compare(l leaf) truth {
	if l.kind != '0' {
		return unexpected
	}
	order, ok := c.order(l.text)
	if !ok {
		return unexpected
	}
	switch c.op {
	case opGT:
		return truthOf(order > 0)
	case opGTE:
		return truthOf(order >= 0)
	case opLT:
		return truthOf(order < 0)
	case opLTE:
		return truthOf(order <= 0)
	}
	return truthOf(order == 0)
}

// order compares a number with the condition's.
func (c *condition) order(text []byte) (int, bool) {
	if x, small := smallNumber(text); small && c.isSmall {
		return cmp.Compare(x, c.small), true
	}
	return compareNumbers(text, c.number)
}

// maxNumber bounds the numbers that are compared, in bytes.
const maxNumber = 400

// compareNumbers compares two JSON numbers, digit by digit if necessary.
func compareNumbers(a, b []byte) (int, bool) {
	if len(a) > maxNumber || len(b) > maxNumber {
		return 0, false
	}
	f, errA := strconv.ParseFloat(string(a), 64)
	g, errB := strconv.ParseFloat(string(b), 64)
	if errA != nil || errB != nil || math.Abs(f) > 1e300 || math.Abs(g) > 1e300 || f != 0 && math.Abs(f) < 1e-300 || g != 0 && math.Abs(g) < 1e-300 {
		return 0, false // beyond any reasonable size
	}
	m, okA := new(big.Rat).SetString(string(a))
	n, okB := new(big.Rat).SetString(string(b))
	if !okA || !okB {
		return 0, false
	}
	return m.Cmp(n), true
}

// smallNumber returns the value of a number of at most 15 digits without an exponent. It does not
// allocate.
func smallNumber(s []byte) (float64, bool) {
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 15 {
		return 0, false
	}
	var n, scale float64 = 0, 1
	point := false
	for _, c := range s {
		switch {
		case c == '.' && !point:
			point = true
		case '0' <= c && c <= '9':
			n = n*10 + float64(c-'0')
			if point {
				scale *= 10
			}
		default:
			return 0, false
		}
	}
	if negative {
		n = -n
	}
	return n / scale, true
}

// cleanPath returns the shortest form of a path, with slashes.
func cleanPath(p string) string { return path.Clean(strings.ReplaceAll(p, `\`, "/")) }

// isUnder reports whether a path is base, which is clean, or below it. A path that could also be
// elsewhere is unexpected.
func isUnder(p []byte, base string) truth {
	if bytes.IndexByte(p, 0) >= 0 || len(p) > 1<<16 {
		return unexpected
	}
	if isClean(p) {
		return truthOf(below(p, base))
	}
	text := string(p)
	if u, err := url.Parse(text); err == nil && strings.EqualFold(u.Scheme, "file") {
		return min(unexpected, truthOf(below([]byte(path.Clean(u.Path)), base))) // it may or may not be used as a path
	}
	plain, turned := []byte(path.Clean(text)), []byte(cleanPath(text))
	is := below(plain, base)
	switch {
	case len(base) > 1 && base[1] == ':':
		return truthOf(below(turned, base))
	case is != below(turned, base): // on Windows it is another path
		return unexpected
	case !is && bytes.HasPrefix(turned, []byte("..")) && strings.HasPrefix(base, "/"):
		return unexpected // its beginning is unknown
	}
	return truthOf(is)
}

// below reports whether a clean path is base or begins with it.
func below(p []byte, base string) bool {
	switch {
	case base == "/":
		return len(p) > 0 && p[0] == '/'
	case base == ".":
		return len(p) > 0 && p[0] != '/' && string(p) != ".." && !bytes.HasPrefix(p, []byte("../"))
	}
	return len(p) >= len(base) && string(p[:len(base)]) == base && (len(p) == len(base) || p[len(base)] == '/')
}

// isClean reports whether a path is obviously clean.
func isClean(p []byte) bool {
	if len(p) == 0 || len(p) > 1 && p[len(p)-1] == '/' {
		return false
	}
	for i, c := range p {
		switch {
		case c == '\\' || c == ':':
			return false
		case c == '/' && i+1 < len(p) && p[i+1] == '/':
			return false
		case c == '.' && (i == 0 || p[i-1] == '/'):
			rest := p[i+1:]
			if len(rest) == 0 || rest[0] == '/' || rest[0] == '.' && (len(rest) == 1 || rest[1] == '/') {
				return false
			}
		}
	}
	return true
}

// host compares the host of an address. A text without a host is unexpected.
func (c *condition) host(address []byte) truth {
	u, err := url.Parse(string(address))
	if err != nil || u.Host == "" || len(address) > 1<<16 || bytes.IndexByte(address, '\\') >= 0 {
		return unexpected
	}
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if name == "" {
		return unexpected
	}
	return c.inner[0].holds(leaf{'"', []byte(name)})
}

// An argument is a condition on the values at a path of the arguments.
type argument struct {
	name string
	path []string // "*" is any key or element
	condition
}

func (r *reader) arguments(n node, where string) []argument {
	var list []argument
	r.members(n, where, func(key, value node) {
		a := argument{name: key.text, path: splitPath(key.text)}
		if key.text == "" || slices.Contains(a.path, "") {
			r.fail(key, "%s: %s is not a path such as %q or %q", where, shown(key.text), "owner", "ops.*.op")
			return
		}
		a.condition = r.condition(value, fmt.Sprintf("%s of %s", shown(key.text), where), false)
		list = append(list, a)
	})
	return list
}

// splitPath splits a path at its dots. A dot in a key is written \. .
func splitPath(text string) []string {
	parts := []string{""}
	for i := 0; i < len(text); i++ {
		last := &parts[len(parts)-1]
		switch {
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == '.' || text[i+1] == '\\'):
			i++
			*last += text[i : i+1]
		case text[i] == '.':
			parts = append(parts, "")
		default:
			*last += text[i : i+1]
		}
	}
	return parts
}
