package jsrun

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

const (
	// maxGlimpsed bounds the watched objects of an answer without a known shape, and
	// maxListed the watched elements of each of its lists.
	maxGlimpsed, maxListed = 40, 10
	// maxKeys bounds the examined keys of an object.
	maxKeys = 200
)

// A miss is the last read of a property that an object of an answer does not have.
type miss struct {
	property, target string
	receiver         *goja.Object
	at               script.Spot
	plain            bool   // the program does not check the value
	advice           string // replaces the advice that the keys of the receiver suggest
	known            bool   // other objects of the answer's type have the property
}

// glimpse watches an answer without a known shape for reads of missing properties: the
// answer itself, the objects in it, and the first elements of its lists.
func (r *runtime) glimpse(v goja.Value, target string, bytes int) {
	if bytes > maxShaped {
		return
	}
	left := maxGlimpsed
	r.glimpseIn(v, target, 2, &left)
}

func (r *runtime) glimpseIn(v goja.Value, target string, depth int, left *int) {
	o, ok := v.(*goja.Object)
	if !ok || *left == 0 {
		return
	}
	if o.ClassName() == "Array" {
		for i := range min(o.Get("length").ToInteger(), maxListed) {
			r.glimpseIn(o.Get(strconv.FormatInt(i, 10)), target, depth, left)
		}
		return
	}
	*left--
	_ = o.SetPrototype(r.openPrototype(target)) // fails only for special objects
	if depth == 0 {
		return
	}
	keys := o.Keys()
	for _, key := range keys[:min(len(keys), maxKeys)] {
		r.glimpseIn(o.Get(key), target, depth-1, left)
	}
}

// openPrototype returns the prototype for objects without a known shape of an answer to
// target.
func (r *runtime) openPrototype(target string) *goja.Object {
	if p := r.reads.unshapedProtos[target]; p != nil {
		return p
	}
	r.prepareReads()
	proxy := r.vm.NewProxy(r.vm.NewObject(), &goja.ProxyTrapConfig{
		Get: func(_ *goja.Object, property string, receiver goja.Value) goja.Value {
			if property == "__proto__" {
				return r.reads.plain
			}
			if v := r.reads.plain.Get(property); v != nil {
				return v
			}
			if property != "then" && property != "toJSON" {
				if at, agent := r.reader(); agent {
					r.miss(property, sandbox.ShownTarget(target), receiver, at)
				}
			}
			return goja.Undefined()
		},
		GetSym: func(_ *goja.Object, symbol *goja.Symbol, receiver goja.Value) goja.Value {
			return r.missIterator(target, symbol, receiver)
		},
	})
	p := r.vm.ToValue(proxy).(*goja.Object)
	r.reads.unshapedProtos[target] = p
	return p
}

func (r *runtime) miss(property, target string, receiver goja.Value, at script.Spot) {
	o, ok := receiver.(*goja.Object)
	if !ok || len(property) > 200 {
		return
	}
	r.reads.last = &miss{property, target, o, at, r.reads.sites[at] == script.ReadPlain, "", false}
	r.noteAbsent(property)
}

var unwrapNames = sandbox.UnwrapNames()

// noteAbsent records a read for sandbox.Result.Absent.
func (r *runtime) noteAbsent(read string) {
	if slices.Contains(unwrapNames, strings.TrimPrefix(read, "string.")) && !slices.Contains(r.reads.absent, read) {
		r.reads.absent = append(r.reads.absent, read)
	}
}

// atHand returns the advice for an error that a read of a missing property caused, from
// the keys of the object, or "" if the error has another cause.
func (r *runtime) atHand(class, message, stack string) string {
	m := r.reads.last
	ofUndefined := class == "TypeError" || class == "SyntaxError" && message == `"undefined" is not valid JSON`
	if m == nil || !ofUndefined || !strings.Contains(stack, fmt.Sprintf("%s:%d:", r.script.File, m.at.Line)) ||
		!strings.Contains(message, "undefined") && !strings.Contains(message, "not a function") && !strings.Contains(message, "iterable") {
		return ""
	}
	if m.advice != "" {
		return m.advice
	}
	return m.property + " is undefined: " + r.instead(m)
}

// instead returns what to read in place of a missing property. A method of strings or
// arrays belongs to a string or array in the object.
func (r *runtime) instead(m *miss) string {
	keys := m.receiver.Keys()
	keys = keys[:min(len(keys), maxKeys)]
	var texts, lists []string
	for _, key := range keys {
		switch v := m.receiver.Get(key).(type) {
		case *goja.Object:
			if v.ClassName() == "Array" {
				lists = append(lists, key)
			}
		case goja.String:
			texts = append(texts, key)
		}
	}
	has := "what " + m.target + " answered"
	for _, of := range []struct {
		class, what string
		in          []string
	}{{"String", "a text", texts}, {"Array", "a list", lists}} {
		if r.isMethod(of.class, m.property) && len(of.in) > 0 && len(of.in) <= 3 {
			for i, key := range of.in {
				of.in[i] = "." + gate.Name(key) + "." + m.property
			}
			return fmt.Sprintf("%s is an object and not %s; write %s", has, of.what, strings.Join(of.in, " or "))
		}
	}
	if r.isMethod("Array", m.property) && len(texts) == 1 {
		list := "." + gate.Name(texts[0]) + ".split('\\n')."
		if isJSONText(stringOr(m.receiver.Get(texts[0]), "")) {
			list = "JSON.parse(r." + gate.Name(texts[0]) + ")."
		}
		return fmt.Sprintf("%s is an object and not a list, with a text in %s; write %s%s", has, gate.Name(texts[0]), list, m.property)
	}
	if in := r.within(m.receiver, m.property); in != "" {
		return in
	}
	if near := nearest.Names(m.property, keys, 2); len(near) > 0 {
		return "did you mean " + strings.Join(gate.Names(near), " or ") + "?"
	}
	slices.Sort(keys)
	switch names := gate.Names(keys); {
	case len(names) == 0:
		return "the object is empty, in " + has
	case len(names) > shownFields:
		return fmt.Sprintf("the object, in %s, has %s and %d more", has, strings.Join(names[:shownFields], ", "), len(names)-shownFields)
	default:
		return "the object, in " + has + ", has " + strings.Join(names, ", ")
	}
}

// isMethod reports whether a class, such as String, has a property of that name.
func (r *runtime) isMethod(class, name string) bool {
	constructor, ok := r.vm.GlobalObject().Get(class).(*goja.Object)
	if !ok {
		return false
	}
	prototype, ok := constructor.Get("prototype").(*goja.Object)
	return ok && slices.Contains(prototype.GetOwnPropertyNames(), name)
}

// noteUndefined adds a note if the program returned undefined, or a list of nothing, because of a
// read of a missing property of an answer; what describes the result.
func (r *runtime) noteUndefined(what string) {
	m := r.reads.last
	if m != nil && (m == r.reads.unawaited || r.reads.seen[m.property] || m.known && what != "undefined") {
		return // a note says it, or the field may well be absent
	}
	if m == nil || !m.plain {
		if what == "undefined" && r.reads.inCalls && r.script.ReturnsValue() {
			r.reads.notes = append(r.reads.notes, "the script returned undefined")
		}
		return
	}
	r.noteMiss("returned "+what, m)
}

// notePrinted adds a note if the program prints a missing property of an answer that it has just
// read.
func (r *runtime) notePrinted() {
	m := r.reads.last
	at, agent := r.reader()
	if agent && m.plain && m.at.Line == at.Line && m != r.reads.unawaited && !r.reads.seen[m.property] && len(r.reads.notes) < maxReads {
		r.reads.seen[m.property] = true
		r.noteMiss("printed undefined", m)
	}
}

func (r *runtime) noteMiss(did string, m *miss) {
	advice := m.advice
	if advice == "" {
		advice = gate.Name(m.property) + " is undefined: " + r.instead(m)
	}
	r.reads.notes = append(r.reads.notes, fmt.Sprintf("the script %s: line %d: %s", did, m.at.Line, advice))
}
