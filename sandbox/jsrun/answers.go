package jsrun

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

const (
	// maxTexts bounds the remembered texts of answers.
	maxTexts = 8
	// maxParts bounds the parts of a list that a message names.
	maxParts = 6
)

// A textAnswer is a text that a tool answered with.
type textAnswer struct {
	text   goja.Value
	target string
}

// watchCalls begins to notice reads of the wrong values around the first call of a program.
func (r *runtime) watchCalls() {
	if r.reads.inCalls {
		return
	}
	r.reads.inCalls = true
	r.reads.absent = []string{}
	r.prepareReads()
	r.watchTexts()
	r.watchPromises()
}

// watchWhole notices reads of properties that an answer lacks because it is a text or a list.
func (r *runtime) watchWhole(v goja.Value, target string, bytes int) {
	if bytes > maxShaped {
		return
	}
	if o, ok := v.(*goja.Object); ok {
		if o.ClassName() == "Array" {
			_ = o.SetPrototype(r.listPrototype(target)) // a new array accepts any prototype
		}
		return
	}
	if !goja.IsString(v) || len(r.reads.texts) == maxTexts {
		return
	}
	r.reads.texts = append(r.reads.texts, textAnswer{v, target})
}

// watchTexts notices reads of properties that texts do not have.
func (r *runtime) watchTexts() {
	r.insertBelow(r.vm.ToValue("").ToObject(r.vm).Prototype(), func(property string, receiver goja.Value) {
		if i := slices.IndexFunc(r.reads.texts, func(t textAnswer) bool { return receiver.StrictEquals(t.text) }); i >= 0 {
			r.missText(property, "what "+sandbox.ShownTarget(r.reads.texts[i].target)+" answered is ", receiver)
			r.noteAbsent(property)
		} else if r.isMethod("Array", property) || slices.Contains(unwrapNames, property) && property != "content" || isFieldOfText(property, receiver) {
			r.missText(property, "it is read of ", receiver)
			r.noteAbsent("string." + property)
		}
	}, nil)
}

// watchPromises notices reads of properties that promises do not have, such as those of an answer
// that the program does not await.
func (r *runtime) watchPromises() {
	promise, _, _ := r.vm.NewPromise()
	r.insertBelow(r.vm.ToValue(promise).ToObject(r.vm).Prototype(), func(property string, receiver goja.Value) {
		if o, ok := receiver.(*goja.Object); ok && property != "toJSON" && isPromise(o) {
			at, _ := r.reader()
			r.missAs(property, r.promiseAdvice(o, r.readOf(at.Line, property), at.Line))
			if m := r.reads.last; m != nil && m.at == at && m.plain {
				r.reads.unawaited = m
			}
		}
	}, func(symbol *goja.Symbol, receiver goja.Value) {
		o, ok := receiver.(*goja.Object)
		if at, agent := r.reader(); agent && ok && symbol == goja.SymIterator && isPromise(o) {
			r.missAs("iterator", r.promiseAdvice(o, r.iterated(at.Line), at.Line))
		}
	})
}

func isPromise(o *goja.Object) bool {
	_, ok := o.Export().(*goja.Promise)
	return ok
}

// insertBelow inserts an object between a prototype and Object.prototype. It calls missed for
// properties that neither has, and missedSymbol, if it is not nil, for symbols.
func (r *runtime) insertBelow(prototype *goja.Object, missed func(property string, receiver goja.Value), missedSymbol func(*goja.Symbol, goja.Value)) {
	proxy := r.vm.NewProxy(r.vm.NewObject(), &goja.ProxyTrapConfig{
		Get: func(_ *goja.Object, property string, receiver goja.Value) goja.Value {
			if property == "__proto__" {
				return r.reads.plain
			}
			v := r.reads.plain.Get(property)
			if v == nil {
				missed(property, receiver)
				v = goja.Undefined()
			}
			return v
		},
		GetIdx: func(*goja.Object, int, goja.Value) goja.Value { return goja.Undefined() },
		GetSym: func(_ *goja.Object, symbol *goja.Symbol, receiver goja.Value) goja.Value {
			v := r.reads.plain.GetSymbol(symbol)
			if v == nil {
				if missedSymbol != nil {
					missedSymbol(symbol, receiver)
				}
				v = goja.Undefined()
			}
			return v
		},
	})
	p := r.vm.ToValue(proxy).(*goja.Object)
	_ = prototype.SetPrototype(p) // fails only for Object.prototype
	r.reads.shownPrototypes[p] = r.reads.plain
}

// isFieldOfText reports whether v is a text that is a JSON object with the property.
func isFieldOfText(property string, v goja.Value) bool {
	text, ok := v.Export().(string)
	if !ok || len(text) > 1<<20 || !strings.Contains(text, `"`+property+`"`) {
		return false
	}
	var fields map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &fields) == nil && fields[property] != nil
}

// missText records a read of a property that the text v does not have, with what to write instead.
func (r *runtime) missText(property, of string, v goja.Value) {
	at, _ := r.reader()
	if field := isFieldOfText(property, v); field || r.isMethod("Array", property) && isJSONText(stringOr(v, "")) {
		if text := r.readOf(at.Line, property); text != "" {
			r.missAs(property, text+" is a text: write JSON.parse("+text+")."+property)
			return
		}
		r.missWhole(property, of, "a text that is JSON: parse it first, as in JSON.parse(text)."+property)
		return
	}
	if !r.isMethod("Array", property) {
		if text, part := r.partOf(at.Line, property); text != "" {
			r.missAs(property, text+" is a text: write "+text+" in place of "+text+part)
			return
		}
		r.missWhole(property, of, "a text, without fields: use it as it is")
		return
	}
	split := `.split("\n").` + property
	if text := r.readOf(at.Line, property); text != "" {
		r.missAs(property, text+" is a text: write "+text+split)
		return
	}
	r.missWhole(property, of, "a text: make a list of it first, as in "+split)
}

// listPrototype returns the prototype for lists that answer calls to target. It inherits from
// Array.prototype.
func (r *runtime) listPrototype(target string) *goja.Object {
	if p := r.reads.listProtos[target]; p != nil {
		return p
	}
	r.prepareReads()
	lists := r.vm.NewArray().Prototype()
	below := r.vm.NewObject()
	_ = below.SetPrototype(lists)
	proxy := r.vm.NewProxy(below, &goja.ProxyTrapConfig{
		Get: func(_ *goja.Object, property string, receiver goja.Value) goja.Value {
			if property == "__proto__" {
				return lists
			}
			if v := lists.Get(property); v != nil {
				return v
			}
			if o, ok := receiver.(*goja.Object); ok && property != "then" && property != "toJSON" && o.ClassName() == "Array" {
				r.missWhole(property, "what "+sandbox.ShownTarget(target)+" answered is ", listAdvice(o))
				r.noteAbsent(property)
			}
			return goja.Undefined()
		},
		GetIdx: func(*goja.Object, int, goja.Value) goja.Value { return goja.Undefined() },
	})
	p := r.vm.ToValue(proxy).(*goja.Object)
	if r.reads.listProtos == nil {
		r.reads.listProtos = make(map[string]*goja.Object)
	}
	r.reads.listProtos[target], r.reads.shownPrototypes[p] = p, lists
	return p
}

// listAdvice describes the elements of a list, and how to take one.
func listAdvice(list *goja.Object) string {
	n := list.Get("length").ToInteger()
	if n == 0 {
		return "an empty list"
	}
	var kinds []string
	for i := range min(n, maxParts) {
		part, ok := list.Get(strconv.FormatInt(i, 10)).(*goja.Object)
		if !ok || part.ClassName() == "Array" {
			break
		}
		kind := stringOr(part.Get("type"), "")
		if !slices.Contains([]string{"text", "image", "audio", "resource", "resource_link"}, kind) {
			break
		}
		kinds = append(kinds, kind)
	}
	if n <= maxParts && len(kinds) == int(n) {
		return fmt.Sprintf("a list of %s: take a part, as in r.find((p) => p.type === '%s')", strings.Join(kinds, ", "), kinds[0])
	}
	of := ""
	if first, ok := list.Get("0").(*goja.Object); ok && first.ClassName() != "Array" {
		keys := gate.Names(first.Keys())
		if len(keys) > shownFields {
			keys = append(keys[:shownFields:shownFields], fmt.Sprintf("%d more", len(keys)-shownFields))
		}
		if len(keys) > 0 {
			of = ", each with " + strings.Join(keys, ", ")
		}
	}
	return fmt.Sprintf("a list of %d%s: take one, as in r[0], or all with r.map", n, of)
}

// missWhole records a read of a property that a value lacks because of its type; of describes the
// value.
func (r *runtime) missWhole(property, of, is string) {
	r.missAs(property, gate.Name(property)+" is undefined: "+of+is)
}

// missAs records a read of a missing property, with the advice.
func (r *runtime) missAs(property, advice string) {
	at, agent := r.reader()
	if !agent || len(property) > 200 {
		return
	}
	r.reads.last = &miss{property: property, at: at, plain: r.reads.sites[at] == script.ReadPlain, advice: advice}
}

// missIterator handles a read of the missing iterator of an object of an answer.
func (r *runtime) missIterator(target string, symbol *goja.Symbol, receiver goja.Value) goja.Value {
	if v := r.reads.plain.GetSymbol(symbol); v != nil {
		return v
	}
	o, ok := receiver.(*goja.Object)
	at, agent := r.reader()
	if symbol != goja.SymIterator || !ok || !agent {
		return goja.Undefined()
	}
	r.reads.last = &miss{property: "iterator", at: at, advice: r.notIterable(o, target, r.iterated(at.Line))}
	return goja.Undefined()
}

// notIterable describes an object of an answer that a program treats as a list; text is the
// program's expression for it, or "".
func (r *runtime) notIterable(o *goja.Object, target, text string) string {
	var lists, texts []string
	keys := o.Keys()
	for _, key := range keys[:min(len(keys), maxKeys)] {
		switch v := o.Get(key).(type) {
		case *goja.Object:
			if v.ClassName() == "Array" {
				lists = append(lists, text+"."+gate.Name(key))
			}
		case goja.String:
			texts = append(texts, text+"."+gate.Name(key))
		}
	}
	is := "an object and not a list"
	switch names := gate.Names(keys); {
	case len(lists) > 0 && len(lists) <= maxParts:
		is += "; its lists: " + strings.Join(lists, ", ")
	case len(texts) == 1 && len(keys) == 1:
		is += ": write " + texts[0] + `.split("\n")`
	case len(names) > shownFields:
		is += fmt.Sprintf(", with %s and %d more", strings.Join(names[:shownFields], ", "), len(names)-shownFields)
	case len(names) > 0:
		is += ", with " + strings.Join(names, ", ")
	}
	if text != "" && len(keys) <= shownFields {
		return text + " is " + r.sketch(o) + ", " + is
	}
	return "the object, in what " + sandbox.ShownTarget(target) + " answered, is " + is
}
