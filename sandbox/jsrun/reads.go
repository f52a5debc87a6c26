package jsrun

import (
	"fmt"
	"maps"
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
	// maxReads bounds the reported reads of one run.
	maxReads = 10
	// maxShaped bounds the answers whose reads are watched, in bytes.
	maxShaped = 256 << 10
	// shownFields bounds the fields that a message lists if none is similar.
	shownFields = 8
)

// reads notices reads of unknown properties. Objects of an answer with a known shape have an
// object between them and Object.prototype, which is consulted only for properties that the object
// itself lacks: other reads are as in plain JavaScript, and as fast.
type reads struct {
	shapes          map[string]*sandbox.Shape // by target of the call
	listed          map[*sandbox.Shape]bool   // shapes in elements of lists
	sites           map[script.Spot]script.ReadSite
	shapedProtos    map[*sandbox.Shape]*goja.Object
	plain           *goja.Object // Object.prototype
	seen            map[string]bool
	notes           []string
	absent          []string                  // reads for sandbox.Result.Absent
	unshapedProtos  map[string]*goja.Object   // prototypes of answers without a shape, by target
	media           map[string]*sandbox.Shape // of images, sounds and files, by target
	listProtos      map[string]*goja.Object   // prototypes of answers that are lists, by target
	texts           []textAnswer
	inCalls         bool                          // reads of texts and promises are watched
	shownPrototypes map[*goja.Object]*goja.Object // replacements for the added prototypes in Object.getPrototypeOf
	last            *miss
	// unawaited is the last read of a property of a promise.
	unawaited *miss
}

// shapeOf returns the shape of the answer to a call, if its reads are watched.
func (r *runtime) shapeOf(target string, bytes int) *sandbox.Shape {
	if bytes > maxShaped {
		return nil
	}
	return r.reads.shapes[target]
}

// watch begins to notice reads of v, as far as its shape is known.
func (r *runtime) watch(v goja.Value, s *sandbox.Shape, target string) {
	r.watchIn(v, s, target, false)
}

// watchIn is like watch, for a part of an answer; listed is set if a list contains it.
func (r *runtime) watchIn(v goja.Value, s *sandbox.Shape, target string, listed bool) {
	o, ok := v.(*goja.Object)
	if !ok || s == nil {
		return
	}
	if o.ClassName() == "Array" {
		if s.Elem != nil && (len(s.Elem.Props) > 0 || s.Elem.Elem != nil) {
			for i := range o.Get("length").ToInteger() {
				r.watchIn(o.Get(strconv.FormatInt(i, 10)), s.Elem, target, true)
			}
		}
		return
	}
	for name, of := range s.Props {
		if of != nil && (len(of.Props) > 0 || of.Elem != nil) {
			r.watchIn(o.Get(name), of, target, listed)
		}
	}
	if p := r.prototype(s, target); p != nil {
		if listed {
			r.reads.listed[s] = true
		}
		// An ordinary object accepts any prototype.
		_ = o.SetPrototype(p)
	}
}

// prototype returns the prototype for objects of a shape; nil means the default one.
func (r *runtime) prototype(s *sandbox.Shape, target string) *goja.Object {
	if s == nil || len(s.Props) == 0 || s.Open {
		return nil
	}
	if p := r.reads.shapedProtos[s]; p != nil {
		return p
	}
	r.prepareReads()
	proxy := r.vm.NewProxy(r.vm.NewObject(), &goja.ProxyTrapConfig{
		Get: func(_ *goja.Object, property string, receiver goja.Value) goja.Value {
			return r.missed(s, target, property, receiver)
		},
		GetSym: func(_ *goja.Object, symbol *goja.Symbol, receiver goja.Value) goja.Value {
			return r.missIterator(target, symbol, receiver)
		},
	})
	p := r.vm.ToValue(proxy).(*goja.Object)
	r.reads.shapedProtos[s] = p
	return p
}

// prepareReads initializes the reads for the first watched object.
func (r *runtime) prepareReads() {
	if r.reads.shapedProtos != nil {
		return
	}
	r.reads.shapedProtos = make(map[*sandbox.Shape]*goja.Object)
	r.reads.unshapedProtos = make(map[string]*goja.Object)
	r.reads.shownPrototypes = make(map[*goja.Object]*goja.Object)
	r.reads.seen = make(map[string]bool)
	r.reads.listed = make(map[*sandbox.Shape]bool)
	r.reads.plain = r.vm.NewObject().Prototype()
	r.hidePrototypes()
}

// hidePrototypes makes functions such as Object.getPrototypeOf return the default prototypes, so
// that watched objects look like plain ones.
func (r *runtime) hidePrototypes() {
	hide := func(owner *goja.Object) {
		original, ok := goja.AssertFunction(owner.Get("getPrototypeOf"))
		if !ok {
			return
		}
		r.defineValue(owner, "getPrototypeOf", r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
			v := r.callOrThrow(original, c.Arguments...)
			if o, ok := v.(*goja.Object); ok && r.isShaped(o) {
				return r.reads.plain
			} else if ok && r.reads.shownPrototypes[o] != nil {
				return r.reads.shownPrototypes[o]
			}
			return v
		}))
	}
	for _, name := range []string{"Object", "Reflect"} {
		if name == "Reflect" && !strings.Contains(r.prog.Code, name) && !strings.Contains(r.prog.Code, "globalThis") {
			continue // the engine creates it on first use
		}
		if o, ok := r.vm.GlobalObject().Get(name).(*goja.Object); ok {
			hide(o)
		}
	}
}

// isShaped reports whether o is one of the added prototypes.
func (r *runtime) isShaped(o *goja.Object) bool {
	for _, p := range r.reads.shapedProtos {
		if p == o {
			return true
		}
	}
	for _, p := range r.reads.unshapedProtos {
		if p == o {
			return true
		}
	}
	return false
}

// missed handles a read of a property that an object of shape s lacks, and adds a note if the
// property is unknown.
func (r *runtime) missed(s *sandbox.Shape, target, property string, receiver goja.Value) goja.Value {
	if property == "__proto__" {
		return r.reads.plain
	}
	if v := r.reads.plain.Get(property); v != nil {
		return v
	}
	if property == "then" || property == "toJSON" {
		return goja.Undefined()
	}
	at, agent := r.reader()
	if !agent {
		return goja.Undefined()
	}
	if s.Props[property] != nil { // optional, so it only explains a result of undefined
		if r.miss(property, sandbox.ShownTarget(target), receiver, at); r.reads.last != nil {
			r.reads.last.known = true
		}
		return goja.Undefined()
	}
	if s == r.reads.media[target] && script.MediaTexts.IsBytes(property) {
		return r.missedBytes(property, receiver, at)
	}
	r.miss(property, sandbox.ShownTarget(target), receiver, at)
	site := r.reads.sites[at]
	near := nearest.Names(property, slices.Sorted(maps.Keys(s.Props)), 2)
	if len(near) == 0 && (site != script.ReadPlain || r.reads.listed[s]) {
		return goja.Undefined() // the script checks the field; fields of records are often optional
	}
	// Without a similar name, the read may be intended.
	if s.Closed && site == script.ReadPlain && len(near) > 0 {
		panic(r.failure("TypeError", fmt.Sprintf("%s is not a field of what %s answers%s", gate.Name(property), sandbox.ShownTarget(target), wayOut(s, near))))
	}
	r.noteRead(at.Line, property, wayOut(s, near))
	return goja.Undefined()
}

// wayOut lists the similar fields, or the existing ones.
func wayOut(s *sandbox.Shape, near []string) string {
	if len(near) > 0 {
		return "; did you mean " + strings.Join(gate.Names(near), " or ") + "?"
	}
	names := gate.Names(slices.Sorted(maps.Keys(s.Props)))
	if len(names) > shownFields {
		return fmt.Sprintf("; there are %s and %d more", strings.Join(names[:shownFields], ", "), len(names)-shownFields)
	}
	return "; there is " + strings.Join(names, ", ")
}

func (r *runtime) noteRead(line int, property, rest string) {
	if property = gate.Cut(property, 60); r.reads.seen[property] || len(r.reads.notes) == maxReads {
		return
	}
	r.reads.seen[property] = true
	r.reads.notes = append(r.reads.notes, fmt.Sprintf("line %d: %s is undefined%s", line, gate.Name(property), rest))
}

// reader returns the position of the code that reads, if it is the program's own.
func (r *runtime) reader() (script.Spot, bool) {
	for _, f := range r.vm.CaptureCallStack(2, nil) {
		p := f.Position()
		if p.Filename == "" && p.Line == 0 { // a function of Go
			continue
		}
		if p.Filename != r.script.File {
			return script.Spot{}, false
		}
		return script.Spot{Line: p.Line, Column: p.Column}, true
	}
	return script.Spot{}, false
}
