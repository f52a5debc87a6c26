package jsrun

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// defineParse replaces JSON.parse by the scanner that reads results: it is
// several times as fast as the engine's, and has one rule for integers.
//
// An integer (digits without a fraction or an exponent) beyond 2^53-1 in either
// direction is a bigint, because a number would change its digits. JSON.stringify
// writes a bigint as the same digits, so what is parsed and written again is
// what it was.
func (r *runtime) defineParse() {
	object, _ := r.vm.GlobalObject().Get("JSON").(*goja.Object)
	r.defineValue(object, "parse", r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		value, err := r.parse(c.Argument(0).ToString())
		if err == nil && len(c.Arguments) > 1 {
			if _, ok := goja.AssertFunction(c.Arguments[1]); ok {
				revive, _ := goja.AssertFunction(r.load("revive"))
				value, err = revive(goja.Undefined(), value, c.Arguments[1])
			}
		}
		if err != nil {
			panic(err)
		}
		return value
	}))
}

func (r *runtime) parse(text goja.Value) (goja.Value, error) {
	raw := text.String()
	if s, ok := text.(goja.String); ok && strings.Contains(raw, "\ufffd") {
		raw = withHalfPairs(s)
	}
	value, err := fromJSON(r.vm, raw)
	wrong, ok := errors.AsType[*jsonError](err)
	if !ok {
		return value, err
	}
	message := wrong.message
	switch {
	case raw == "undefined" || raw == "[object Object]":
		message = `"` + raw + `" is not valid JSON`
	case !strings.HasPrefix(message, "Unexpected token") && !strings.HasSuffix(message, "input"):
		message += " at position " + strconv.Itoa(len(utf16.Encode([]rune(raw[:wrong.at]))))
	}
	panic(r.failure("SyntaxError", message))
}

// withHalfPairs is s as UTF-8, with halves of surrogate pairs, which UTF-8
// cannot hold, as escapes of JSON.
func withHalfPairs(s goja.String) string {
	var b strings.Builder
	for i := 0; i < s.Length(); i++ {
		c := rune(s.CharAt(i))
		if !utf16.IsSurrogate(c) {
			b.WriteRune(c)
			continue
		}
		if i+1 < s.Length() {
			if pair := utf16.DecodeRune(c, rune(s.CharAt(i+1))); pair != utf8.RuneError {
				b.WriteRune(pair)
				i++
				continue
			}
		}
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}
