package jsrun

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// describe describes a thrown value: the error, its frames in the program's own lines, its causes.
// It returns an error if that ended the run, since getters and proxies of the value run the
// program's code.
func (r *runtime) describe(v goja.Value) (string, error) {
	var text string
	err := r.guard(func() { text = r.describeValue(v, 0) })
	if err != nil && !isEnd(err) {
		return script.Texts.Undescribable, nil
	}
	return text, err
}

func (r *runtime) describeValue(v goja.Value, depth int) string {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Error" {
		return script.Texts.NotAnError + r.inspect(v)
	}
	text := r.errorLine(o)
	text += r.cleanStack(stringOr(o.Get("stack"), ""), maxFrames, shortIndent)
	name, message := r.errorHead(o)
	hint := cmp.Or(r.advice[o], r.hint(name, message), r.atHand(name, message, stringOr(o.Get("stack"), "")))
	if own := o.Get("hint"); hint == "" && r.thrown[o] && own != nil && goja.IsString(own) {
		hint = own.String() // the hint of a failed call
	}
	if hint != "" {
		text += "\nhint: " + hint
	}
	if depth >= 3 {
		return text
	}
	if cause := o.Get("cause"); cause != nil && !goja.IsUndefined(cause) {
		text += "\ncaused by: " + r.describeValue(cause, depth+1)
	}
	if list, ok := o.Get("errors").(*goja.Object); ok && list.ClassName() == "Array" {
		for i, n := int64(0), list.Get("length").ToInteger(); i < min(n, 5); i++ {
			text += "\n- " + strings.ReplaceAll(r.describeValue(list.Get(strconv.FormatInt(i, 10)), depth+1), "\n", "\n  ")
		}
	}
	return text
}

// errorHead returns an error's class and its message, in the words of other engines.
func (r *runtime) errorHead(o *goja.Object) (name, message string) {
	r.rewordMessage(o)
	name = stringOr(o.Get("name"), "Error")
	if c, ok := o.Get("constructor").(*goja.Object); ok && name == "Error" {
		name = stringOr(c.Get("name"), name) // a class of the program that does not set a name
	}
	return name, stringOr(o.Get("message"), "")
}

// errorLine returns both as one text.
func (r *runtime) errorLine(o *goja.Object) string { return headline(r.errorHead(o)) }

func stringOr(v goja.Value, otherwise string) string {
	if v == nil || goja.IsUndefined(v) || goja.IsNull(v) || v.String() == "" {
		return otherwise
	}
	return v.String()
}

// failure returns an error for the program of the class Error, TypeError, RangeError or
// SyntaxError.
func (r *runtime) failure(class, message string) goja.Value {
	o, err := r.vm.New(r.classes[class], r.vm.ToValue(message))
	if err != nil {
		panic(err)
	}
	return o
}

// message returns the message of an error as part of a sentence.
func (r *runtime) message(err error) string {
	text := err.Error()
	if ex, ok := errors.AsType[*goja.Exception](err); ok {
		if described, err := r.describe(ex.Value()); err == nil {
			text, _, _ = strings.Cut(described, "\n")
		}
	}
	return text
}

// hint returns the advice for an undefined name, or for arithmetic with a bigint.
func (r *runtime) hint(name, message string) string {
	if hint := script.MessageHint(name, message); hint != "" {
		return hint
	}
	missing, ok := strings.CutSuffix(message, " is not defined")
	if !ok || strings.ContainsAny(missing, " \t\n") || name != "ReferenceError" {
		return ""
	}
	return r.script.Hint(missing, r.hints)
}
