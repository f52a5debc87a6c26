package jsrun

import (
	"regexp"
	"strings"
	"sync"

	"github.com/dop251/goja"
)

// A wording replaces goja's message for a frequent mistake by that of other engines, which models
// know. In say, $1 is the match of the group in pattern.
type wording struct {
	class   string
	pattern *regexp.Regexp
	say     string
}

var wordings = sync.OnceValue(func() []wording {
	is := func(class, pattern, say string) wording {
		return wording{class, regexp.MustCompile("^" + pattern + "$"), say}
	}
	return []wording{
		// goja does not distinguish undefined from null.
		is("TypeError", `Cannot read property '(.*)' of undefined(?: or null)?`, "Cannot read properties of undefined or null (reading '$1')"),
		is("TypeError", `Object has no member '(.*)'`, "$1 is not a function"),
		// goja has the same message for the operands of in and instanceof, and for arguments.
		is("TypeError", `Value is not an object: (.*)`, "$1 is not a function, or not an object where one is needed"),
		is("TypeError", `Value is not object coercible`, "Cannot destructure undefined or null"),
		is("TypeError", `No initial value`, "Reduce of empty array with no initial value"),
		is("TypeError", `Cannot assign to read only property '(.*)'`, "Cannot assign to read only property '$1' of object '#<Object>'"),
		is("URIError", `Malformed URI`, "URI malformed"),
		is("AggregateError", ``, "All promises were rejected"), // of Promise.any, which has no position
	}
})

// rewordMessage replaces the message of an error of the engine, and its copy in the trace, with
// the words of other engines.
func (r *runtime) rewordMessage(o *goja.Object) {
	class, message, stack := stringOr(o.Get("name"), ""), stringOr(o.Get("message"), ""), stringOr(o.Get("stack"), "")
	for _, w := range wordings() {
		if w.class != class || !w.pattern.MatchString(message) {
			continue
		}
		words := w.pattern.ReplaceAllString(message, w.say)
		if message == "" {
			if r.cleanStack(stack, 1, "") != "" {
				return // the program's own error
			}
			message, words = class, class+": "+words
		}
		r.redefine(o, "stack", strings.Replace(stack, message, words, 1))
		r.redefine(o, "message", strings.TrimPrefix(words, class+": "))
		return
	}
}
