package pin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A Weight is the importance of a difference.
type Weight uint8

// The weights. Words are for readers; the other weights change what a call does.
const (
	Words    Weight = iota // title and descriptions
	Contract               // parameters, constraints, annotations, results
)

// A Difference is one changed part of a definition.
type Difference struct {
	// Where is its path, such as "inputSchema.properties.bcc".
	Where  string `json:"where"`
	Weight Weight `json:"-"`
	// Text describes the difference on one line, with invisible characters escaped.
	Text string `json:"text"`
}

// Diff returns the differences between two definitions of a tool, the most important first.
func Diff(before, after json.RawMessage) ([]Difference, error) {
	a, err := parse(before)
	if err != nil {
		return nil, fmt.Errorf("before: %w", err)
	}
	b, err := parse(after)
	if err != nil {
		return nil, fmt.Errorf("after: %w", err)
	}
	d := &differ{}
	x, _ := a.(object)
	y, _ := b.(object)
	for _, f := range Fields {
		d.compare([]string{f}, x.get(f), y.get(f))
	}
	slices.SortStableFunc(d.list, func(p, q Difference) int { return cmp.Compare(q.Weight, p.Weight) })
	return d.list, nil
}

// Worst returns the largest weight of the differences.
func Worst(list []Difference) Weight {
	worst := Words
	for _, d := range list {
		worst = max(worst, d.Weight)
	}
	return worst
}

func (o object) get(key string) any {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].key == key {
			return o[i].value
		}
	}
	return nil
}

type differ struct{ list []Difference }

// maxDifferences bounds the reported differences of one tool.
const maxDifferences = 200

func (d *differ) add(path []string, w Weight, format string, args ...any) {
	if len(d.list) < maxDifferences {
		d.list = append(d.list, Difference{strings.Join(path, "."), w, gate.Terminal(fmt.Sprintf(format, args...))})
	}
}

func (d *differ) compare(path []string, a, b any) {
	x, err1 := appendValue(nil, a)
	y, err2 := appendValue(nil, b)
	if err1 == nil && err2 == nil && string(x) == string(y) {
		return
	}
	p, isObject := a.(object)
	q, isToo := b.(object)
	if a == nil && isToo || b == nil && isObject || isObject && isToo {
		if len(path) == 1 && path[0] != "annotations" && (a == nil || b == nil) {
			d.schemaChange(path, a == nil)
			return
		}
		if parameterAt(path) && (a == nil || b == nil) {
			d.parameter(path, q, a == nil)
			return
		}
		d.members(path, p, q)
		return
	}
	d.value(path, a, b)
}

// schemaChange records a schema that was added or removed.
func (d *differ) schemaChange(path []string, added bool) {
	if added {
		d.add(path, Contract, "%s added", path[0])
	} else {
		d.add(path, Contract, "%s removed", path[0])
	}
}

func (d *differ) members(path []string, a, b object) {
	var keys []string
	for _, o := range []object{a, b} {
		for _, m := range o {
			if !slices.Contains(keys, m.key) {
				keys = append(keys, m.key)
			}
		}
	}
	for _, k := range keys {
		d.compare(append(slices.Clone(path), k), a.get(k), b.get(k))
	}
}

// parameterAt reports whether a path is that of a property.
func parameterAt(path []string) bool {
	return len(path) >= 3 && path[len(path)-2] == "properties"
}

// parameter records a parameter that was added or removed.
func (d *differ) parameter(path []string, after object, added bool) {
	what := "parameter"
	if path[0] == "outputSchema" {
		what = "result field"
	}
	name := Spelt(path[len(path)-1])
	if !added {
		d.add(path, Contract, "%s %q removed", what, name)
		return
	}
	text := fmt.Sprintf("%s %q added", what, name)
	if v := after.get("type"); v != nil {
		text += ", " + oneLine(v)
	}
	if v := after.get("default"); v != nil {
		text += ", default " + oneLine(v)
	}
	if v := after.get("description"); v != nil {
		text += ": " + oneLine(v)
	}
	d.add(path, Contract, "%s", text)
}

// value records two different values that are not both objects.
func (d *differ) value(path []string, a, b any) {
	key := path[len(path)-1]
	name := strings.Join(path[1:], ".")
	if len(path) == 1 {
		name = key
	}
	name = strings.ReplaceAll(strings.ReplaceAll(name, "properties.", ""), ".items.", "[].")
	w := Contract
	if key == "description" || key == "title" || key == "$comment" || key == "examples" {
		if len(path) < 2 || path[len(path)-2] != "properties" {
			w = Words
		}
	}
	name = Spelt(name)
	s, text := a.(string)
	t, too := b.(string)
	switch {
	case text && too && (len(s) > 40 || len(t) > 40 || w == Words):
		d.add(path, w, "%s: %s", name, words(s, t))
	case a == nil:
		d.add(path, w, "%s added: %s", name, oneLine(b))
	case b == nil:
		d.add(path, w, "%s %s removed", name, oneLine(a))
	default:
		d.add(path, w, "%s %s -> %s", name, oneLine(a), oneLine(b))
	}
}

// oneLine returns a value on one line, cut.
func oneLine(v any) string {
	b, err := appendValue(nil, v)
	if err != nil {
		return "?"
	}
	return gate.Cut(Spelt(string(b)), 300)
}

// words returns the changed words of a text as [-old-] {+new+}, with a few of the words around
// them.
func words(a, b string) string {
	x, y := strings.Fields(Spelt(a)), strings.Fields(Spelt(b))
	if len(x) > 2000 || len(y) > 2000 || slices.Equal(x, y) {
		return gate.Cut("[-"+Spelt(a)+"-] {+"+Spelt(b)+"+}", 600)
	}
	p, q := 0, 0
	for p < min(len(x), len(y)) && x[p] == y[p] {
		p++
	}
	for q < min(len(x), len(y))-p && x[len(x)-1-q] == y[len(y)-1-q] {
		q++
	}
	const around = 4
	var out []string
	if p > around {
		out = append(out, "…")
	}
	out = append(out, x[max(0, p-around):p]...)
	if old := x[p : len(x)-q]; len(old) > 0 {
		out = append(out, "[-"+gate.Cut(strings.Join(old, " "), 1000)+"-]")
	}
	if new := y[p : len(y)-q]; len(new) > 0 {
		out = append(out, "{+"+gate.Cut(strings.Join(new, " "), 1000)+"+}")
	}
	rest := y[len(y)-q:]
	out = append(out, rest[:min(len(rest), around)]...)
	if len(rest) > around {
		out = append(out, "…")
	}
	return strings.Join(out, " ")
}

// Spelt returns s with each invisible character written as ⟨U+200B⟩.
func Spelt(s string) string {
	if !gate.Hides(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if one := string(r); gate.Hides(one) && r != '\n' && r != '\t' || hidesAt(s, i, r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidesAt reports whether a joiner or a selector, which some letters need, is invisible at its
// position.
func hidesAt(s string, i int, r rune) bool {
	if r != 0x200c && r != 0x200d && r != 0xfe0f {
		return false
	}
	before := s[max(0, i-8):i]
	for len(before) > 0 && before[0]&0xc0 == 0x80 {
		before = before[1:]
	}
	after := s[i+3:]
	after = after[:min(len(after), 8)]
	return gate.Clean(before+string(r)+after) == gate.Clean(before+after)
}
