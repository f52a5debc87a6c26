package jsrun

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
)

// The flag d asks where each group of a match was. goja keeps that to itself, so
// such an expression is matched once more, by the library that goja has for what
// Go's own regexp does not know.

// A located is a regular expression that can say where its groups match.
type located struct {
	rx      *regexp2.Regexp
	unicode bool

	// The text that was read last: a search for all matches comes with the same
	// one again and again.
	text  goja.String
	runes []rune
	at    []int // where each rune begins, and where the text ends
}

// read makes the runes of a text.
func (l *located) read(text goja.String) {
	l.text, l.runes, l.at = text, []rune{}, nil
	for i := 0; i < text.Length(); i++ {
		c := rune(text.CharAt(i))
		l.at = append(l.at, i)
		if l.unicode && i+1 < text.Length() {
			if pair := utf16.DecodeRune(c, rune(text.CharAt(i+1))); pair != 0xFFFD {
				c = pair
				i++
			}
		}
		l.runes = append(l.runes, c)
	}
	l.at = append(l.at, text.Length())
}

// locate compiles a pattern that the engine has accepted.
func locate(pattern, flags string) (*located, error) {
	l := &located{unicode: strings.Contains(flags, "u")}
	opts := regexp2.ECMAScript
	for flag, opt := range map[string]regexp2.RegexOptions{
		"i": regexp2.IgnoreCase, "m": regexp2.Multiline, "s": regexp2.Singleline, "u": regexp2.Unicode,
	} {
		if strings.Contains(flags, flag) {
			opts |= opt
		}
	}
	if !l.unicode {
		pattern = halved(pattern)
	}
	var err error
	l.rx, err = regexp2.Compile(pattern, opts)
	return l, err
}

// halved writes the characters of a pattern that UTF-16 has as two, which a
// pattern without the flag u takes for two.
func halved(pattern string) string {
	var b strings.Builder
	for _, r := range pattern {
		if hi, lo := utf16.EncodeRune(r); r > 0xFFFF {
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// A span is where a group is in a text, in UTF-16; start is -1 if it has no part
// in the match.
type span struct {
	name       string // empty for a group without one
	start, end int
}

// spans are the groups of the match that begins at start.
func (l *located) spans(text goja.String, start int) ([]span, error) {
	if l.text == nil || !text.SameAs(l.text) {
		l.read(text)
	}
	runes, at := l.runes, l.at
	from, _ := slices.BinarySearch(at, start)
	match, err := l.rx.FindRunesMatchStartingAt(runes, from)
	if err != nil || match == nil {
		return nil, err
	}
	var spans []span
	for i, g := range match.Groups() {
		s := span{start: -1}
		if g.Name != strconv.Itoa(i) {
			s.name = g.Name
		}
		if len(g.Captures) > 0 {
			s.start, s.end = at[g.RuneIndex], at[g.RuneIndex+g.RuneLength]
		}
		spans = append(spans, s)
	}
	return spans, nil
}

// findIndices is the function of lib that makes the property indices of a match
// of (pattern, flags) in a text from a place on.
func (r *runtime) findIndices(c goja.FunctionCall) goja.Value {
	key := c.Argument(1).String() + "/" + c.Argument(0).String()
	l := r.located[key]
	if l == nil {
		var err error
		if l, err = locate(c.Argument(0).String(), c.Argument(1).String()); err != nil {
			panic(r.failure("SyntaxError", "Invalid regular expression: "+err.Error()))
		}
		if r.located == nil {
			r.located = make(map[string]*located)
		}
		r.located[key] = l
	}
	text, ok := c.Argument(2).(goja.String)
	if !ok {
		return goja.Undefined()
	}
	spans, err := l.spans(text, int(c.Argument(3).ToInteger()))
	if err != nil || spans == nil {
		return goja.Undefined()
	}
	pairs := make([]any, len(spans))
	groups := goja.Value(goja.Undefined())
	for i, s := range spans {
		pairs[i] = goja.Undefined()
		if s.start >= 0 {
			pairs[i] = r.vm.NewArray(s.start, s.end)
		}
		if s.name != "" {
			if goja.IsUndefined(groups) {
				groups = r.vm.CreateObject(nil)
			}
			_ = groups.(*goja.Object).Set(s.name, pairs[i])
		}
	}
	list := r.vm.NewArray(pairs...)
	_ = list.Set("groups", groups)
	return list
}

// newRegExp is what a literal with the flag d becomes.
func (r *runtime) newRegExp(c goja.FunctionCall) goja.Value {
	o, err := r.vm.New(r.load("regexp").Get("RegExp"), c.Arguments...)
	if err != nil {
		panic(err)
	}
	return o
}
