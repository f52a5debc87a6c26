// Package codegen turns catalogue tools into TypeScript: the module that a
// script imports, the one-line signature in a search hit, and the compact
// declaration. It is pure: a catalogue goes in, text comes out, the same bytes
// every time, and it does no I/O.
package codegen

import (
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// signatureMax is the length in bytes from which a signature leaves optional
// parameters out; a model can ask for the whole with detail "full".
const signatureMax = 320

// Signature returns the tool as one line of TypeScript, ready to call:
//
//	github.listIssues(input: { owner: string; repo: string }): Promise<any>
//
// A long input keeps its required parameters and counts the others.
func Signature(s *discovery.Server, t *discovery.Tool) string {
	in := inputType(t, &printer{enumMax: 6})
	sig := callable(s, t, in, outputType(t, &printer{enumMax: 6}))
	if len(sig) <= signatureMax {
		return sig
	}
	return callable(s, t, shortInput(t), shorten(outputType(t, &printer{enumMax: 4}), 120, "object"))
}

// Declaration returns the compact declaration of the tool: every parameter
// with a short comment, the output type, and the description's first sentence.
func Declaration(s *discovery.Server, t *discovery.Tool) string {
	in := inputType(t, &printer{enumMax: 20, comments: true})
	sig := callable(s, t, in, outputType(t, &printer{enumMax: 20}))
	if d := FirstSentence(t.Description, 200); d != "" {
		return "/** " + strings.ReplaceAll(d, "*/", "* /") + " */ " + sig
	}
	return sig
}

func callable(s *discovery.Server, t *discovery.Tool, in, out string) string {
	arg := ""
	switch {
	case in == "":
	case strings.HasPrefix(in, "?"):
		arg = "input?: " + in[1:]
	default:
		arg = "input: " + in
	}
	return fmt.Sprintf("%s.%s(%s): Promise<%s>", s.Namespace, t.Func, arg, out)
}

// inputType is the type of the tool's argument: empty when it takes none, and
// with "?" in front when it can be left out.
func inputType(t *discovery.Tool, p *printer) string {
	root := rootObject(t.InputSchema)
	if root == nil {
		return "?Record<string, unknown>"
	}
	p.root = root
	if len(keys(root.object("properties"))) == 0 && !root.has("anyOf") && !root.has("oneOf") &&
		!root.has("allOf") && !root.has("$ref") {
		switch root.get("additionalProperties").(type) {
		case *object:
		default:
			return ""
		}
	}
	in := orUnknown(p.typeOf(root, 0))
	if len(root.list("required")) == 0 && strings.HasPrefix(in, "{") {
		return "?" + in
	}
	return in
}

// shortInput is the input with its required parameters only.
func shortInput(t *discovery.Tool) string {
	root := rootObject(t.InputSchema)
	props := root.object("properties")
	if props == nil {
		return "Record<string, unknown>"
	}
	p := &printer{root: root, enumMax: 4}
	required := map[string]bool{}
	for _, r := range root.list("required") {
		if name, ok := r.(string); ok {
			required[name] = true
		}
	}
	var fields []string
	left := 0
	for _, name := range props.keys {
		if !required[name] {
			left++
			continue
		}
		fields = append(fields, key(name)+": "+shorten(orUnknown(p.typeOf(props.get(name), 1)), 80, "object"))
	}
	if left > 0 {
		fields = append(fields, fmt.Sprintf("…%d optional", left))
	}
	return "{ " + strings.Join(fields, "; ") + " }"
}

func shorten(typ string, limit int, instead string) string {
	if len(typ) > limit {
		return instead
	}
	return typ
}

// outputType is the type of the value that a call gives: that of the declared
// output schema, where a lone "result" is unwrapped as the bridge does it;
// without one it is any, because unknown makes ordinary code fail.
func outputType(t *discovery.Tool, p *printer) string {
	root := rootObject(t.OutputSchema)
	if root == nil || len(root.keys) == 0 {
		return "any"
	}
	p.root = root
	if props := root.object("properties"); props != nil && t.WrapsResult() {
		return anyFor(p.typeOf(props.get("result"), 1))
	}
	return anyFor(p.typeOf(root, 0))
}

func anyFor(t string) string {
	if t == "" || t == "unknown" || t == "Record<string, unknown>" {
		return "any"
	}
	return t
}

func rootObject(schema []byte) *object {
	if len(schema) == 0 {
		return nil
	}
	v, err := decode(schema)
	if err != nil {
		return nil
	}
	o, _ := v.(*object)
	return o
}

func keys(o *object) []string {
	if o == nil {
		return nil
	}
	return o.keys
}

// FirstSentence returns the first sentence of text on one line, at most limit
// characters, with "…" where it was cut.
func FirstSentence(text string, limit int) string {
	line := strings.Join(strings.Fields(text), " ")
	for i, r := range line {
		if r != '.' && r != '!' && r != '?' && r != '。' {
			continue
		}
		end := i + len(string(r))
		if r == '。' || end == len(line) || line[end] == ' ' && !abbreviated(line[:end]) {
			line = line[:end]
			break
		}
	}
	if runes := []rune(line); len(runes) > limit {
		cut := string(runes[:limit-1])
		if sp := strings.LastIndexByte(cut, ' '); sp > limit/2 {
			cut = cut[:sp]
		}
		return strings.TrimRight(cut, " ,;:") + "…"
	}
	return line
}

// abbreviated reports whether text ends in an abbreviation, not a sentence.
func abbreviated(text string) bool {
	for _, a := range []string{"e.g.", "i.e.", "etc.", "vs.", "approx.", "max.", "min.", "no.", "Inc."} {
		if strings.HasSuffix(text, a) {
			return true
		}
	}
	return false
}
