package script

import "maps"

const mixedIntegers = "integers beyond 2^53 are bigints in results: "

// ParsedAlready is the hint for JSON.parse of a value that is already parsed.
const ParsedAlready = "this is an object or an array already: use it without JSON.parse"

// messageHints maps messages of the engine to hints; V8 and goja use the same messages.
var messageHints = map[string]string{
	"Cannot mix BigInt and other types, use explicit conversions": mixedIntegers +
		"make the other a bigint too (x + 1n, x % 2n, BigInt(n)), or write Number(x) where the last digits do not matter; < and > compare both",
	"Cannot convert a BigInt value to a number": mixedIntegers +
		"write Number(x) where the last digits do not matter, as in new Date(Number(x)); the largest is list.reduce((a, b) => (a > b ? a : b)), " +
		"and list.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)) sorts",
	"BigInts have no unsigned right shift, use >> instead":     mixedIntegers + "shift by a bigint with >>, as in x >> 22n",
	`"[object Object]" is not valid JSON`:                      ParsedAlready,
	`Unexpected token 'o', "[object Obj"... is not valid JSON`: ParsedAlready,
}

// MessageHints returns the hints by message.
func MessageHints() map[string]string { return maps.Clone(messageHints) }

// MessageHint returns the advice for an error message of the engine, or "".
func MessageHint(class, message string) string {
	if class != "TypeError" && class != "SyntaxError" {
		return ""
	}
	return messageHints[message]
}
