package jsrun

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// mediaMark occurs in every answer with an image, a sound or a file.
const mediaMark = `"ref":"r_`

// mediaShape returns the shape of the objects for images, sounds and files in answers to target.
func (r *runtime) mediaShape(target string) *sandbox.Shape {
	if s := r.reads.media[target]; s != nil {
		return s
	}
	s := &sandbox.Shape{Props: make(map[string]*sandbox.Shape), Closed: true}
	for _, name := range slices.Concat(script.MediaTexts.Fields, script.MediaTexts.Other) {
		s.Props[name] = &sandbox.Shape{}
	}
	if r.reads.media == nil {
		r.reads.media = make(map[string]*sandbox.Shape)
	}
	r.reads.media[target] = s
	return s
}

// watchMedia notices reads of the data of images, sounds and files in an answer.
func (r *runtime) watchMedia(v goja.Value, target string) {
	left := maxMedia
	r.watchMediaIn(v, target, 0, &left)
}

const (
	// maxMedia bounds the watched images, sounds and files of an answer, and
	// maxMediaDepth how deep they are.
	maxMedia      = 200
	maxMediaDepth = 8
)

func (r *runtime) watchMediaIn(v goja.Value, target string, depth int, left *int) {
	o, ok := v.(*goja.Object)
	if !ok || depth > maxMediaDepth || *left == 0 {
		return
	}
	if o.ClassName() == "Array" {
		for i := range o.Get("length").ToInteger() {
			r.watchMediaIn(o.Get(strconv.FormatInt(i, 10)), target, depth+1, left)
		}
		return
	}
	keys := o.Keys()
	if slices.Contains(keys, "size") && slices.Contains(keys, "ref") && !slices.ContainsFunc(keys, func(k string) bool { return !slices.Contains(script.MediaTexts.Fields, k) }) {
		if strings.HasPrefix(stringOr(o.Get("ref"), ""), "r_") {
			*left--
			_ = o.SetPrototype(r.prototype(r.mediaShape(target), target)) // an ordinary object accepts any prototype
		}
		return
	}
	for _, key := range keys {
		r.watchMediaIn(o.Get(key), target, depth+1, left)
	}
}

// missedBytes handles a read of the data of an image, a sound or a file: it throws if the program
// uses the value unchecked, otherwise it adds a note.
func (r *runtime) missedBytes(property string, receiver goja.Value, at script.Spot) goja.Value {
	if r.reads.sites[at] == script.ReadPlain {
		failure := r.failure("TypeError", property+script.MediaTexts.Message)
		r.advise(failure, script.MediaTexts.Hint)
		panic(failure)
	}
	if o, ok := receiver.(*goja.Object); ok {
		r.reads.last = &miss{property: property, receiver: o, at: at, advice: property + script.MediaTexts.Message + "; " + script.MediaTexts.Hint}
	}
	r.noteRead(at.Line, property, strings.TrimPrefix(script.MediaTexts.Message, " is undefined")+"; "+script.MediaTexts.Hint)
	return goja.Undefined()
}

// advise sets the hint of an error.
func (r *runtime) advise(failure goja.Value, hint string) {
	if r.advice == nil {
		r.advice = make(map[*goja.Object]string)
	}
	r.advice[failure.(*goja.Object)] = hint
}
