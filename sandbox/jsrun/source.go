package jsrun

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// maxLineBytes bounds the examined lines of a program, and maxNamed the names in them.
const maxLineBytes, maxNamed = 500, 60

// line returns a line of the program as it is written, or "" if it is long.
func (r *runtime) line(n int) string {
	for rest := r.prog.Code; n > 0; n-- {
		line, more, found := strings.Cut(rest, "\n")
		if n == 1 && len(line) <= maxLineBytes {
			return line
		}
		if rest = more; !found {
			break
		}
	}
	return ""
}

// onlyMatch returns the match of the first group of pattern in a line, or "" if the pattern does
// not match exactly once.
func onlyMatch(line string, pattern interface {
	FindAllStringSubmatch(string, int) [][]string
}) string {
	all := pattern.FindAllStringSubmatch(line, 2)
	if len(all) != 1 || len(all[0][1]) > maxNamed {
		return ""
	}
	return all[0][1]
}

// readOf returns the line's expression for the value whose property it reads, or "".
func (r *runtime) readOf(line int, property string) string {
	pattern, err := regexp.Compile(`(?:^|[^\w$.)\]?])([A-Za-z_$][\w$.]*)[?!]?\.` + regexp.QuoteMeta(property) + `(?:[^\w$]|$)`)
	if err != nil {
		return ""
	}
	return onlyMatch(r.line(line), pattern)
}

// partOf returns the line's expression for the value of which it reads a property of an element,
// such as r.content, and the rest, such as [0].text.
func (r *runtime) partOf(line int, property string) (text, rest string) {
	pattern, err := regexp.Compile(`(?:^|[^\w$.)\]?])([A-Za-z_$][\w$.]*)[?!]?\.?(\[\d+\])[?!]?\.` + regexp.QuoteMeta(property) + `(?:[^\w$]|$)`)
	if err != nil {
		return "", ""
	}
	all := pattern.FindAllStringSubmatch(r.line(line), 2)
	if len(all) != 1 || len(all[0][1]) > maxNamed {
		return "", ""
	}
	return all[0][1], all[0][2] + "." + gate.Name(property)
}

var (
	// iteratedName matches the value that is taken for a list.
	iteratedName = lazyregexp.New(`(?:\bof\s+|\.\.\.\s*|\]\s*=\s*)([A-Za-z_$][\w$.]*)\s*(?:[)\],;]|$)`)
	// parsedName matches the argument of JSON.parse, and parsedCall a call in it.
	parsedName = lazyregexp.New(`\bJSON\s*\.\s*parse\s*\(\s*([A-Za-z_$][\w$.]*)\s*[,)]`)
	parsedCall = lazyregexp.New(`\bJSON\s*\.\s*parse\s*\(\s*(await\s+[A-Za-z_$][\w$.]*)\s*\(`)
	// calledName matches a called function.
	calledName = lazyregexp.New(`([A-Za-z_$][\w$.]*)\s*\(`)
	// dropsPromises matches methods that do not await their callback.
	dropsPromises = lazyregexp.New(`\.\s*(forEach|map|filter|some|every|find|findIndex|findLast)\s*\(\s*async\b`)
)

// iterated returns the line's expression for the value that it treats as a list, or "".
func (r *runtime) iterated(line int) string { return onlyMatch(r.line(line), iteratedName) }

// promiseAdvice says that await is missing before the call whose promise is o; text is the line's
// expression for the promise, or "".
func (r *runtime) promiseAdvice(o *goja.Object, text string, line int) string {
	if text == "" {
		text = "this"
	}
	advice := text + " is a promise: await is missing"
	p, _ := o.Export().(*goja.Promise)
	c := r.loop.callOf(p)
	if c == nil {
		return advice + ", as in (await x)"
	}
	advice += " before " + r.writtenCall(c)
	if c.call.Line != line && c.call.Line > 0 {
		advice += fmt.Sprintf(" in line %d", c.call.Line)
	}
	return advice
}

// writtenCall returns the program's name for the function of a call.
func (r *runtime) writtenCall(c *hostCall) string {
	letters := func(s string) string {
		return strings.ToLower(strings.Map(func(r rune) rune {
			if strings.ContainsRune("_-./ ", r) {
				return -1
			}
			return r
		}, s))
	}
	target := letters(c.name())
	for _, m := range calledName.FindAllStringSubmatch(r.line(c.call.Line), 20) {
		if m[1] == "callMCPTool" || len(m[1]) <= maxNamed && len(m[1]) > 2 && strings.HasSuffix(target, letters(m[1])) {
			return m[1]
		}
	}
	return c.name()
}

// parseAdvice says what to parse instead of an object whose only text is JSON, or returns "".
func (r *runtime) parseAdvice(o *goja.Object) string {
	keys := o.Keys()
	if o.ClassName() != "Object" || len(keys) > shownFields {
		return ""
	}
	field, isJSON := "", false
	for _, key := range keys {
		if text, ok := o.Get(key).(goja.String); ok {
			if field != "" {
				return ""
			}
			field, isJSON = gate.Name(key), isJSONText(text.String())
		}
	}
	if field == "" {
		return ""
	}
	at, _ := r.reader()
	line := r.line(at.Line)
	name, use := onlyMatch(line, parsedName), ""
	if use = name; name == "" {
		if name = "this"; onlyMatch(line, parsedCall) != "" {
			use = "(" + onlyMatch(line, parsedCall) + "(…))"
		} else {
			use = "r"
		}
	}
	if isJSON {
		return name + " is " + r.sketch(o) + ": write JSON.parse(" + use + "." + field + ")"
	}
	return name + " is " + r.sketch(o) + ": " + use + "." + field + " is the text"
}

// sketch lists the keys of an object with the types of their values.
func (r *runtime) sketch(o *goja.Object) string {
	var parts []string
	for _, key := range o.Keys() {
		if len(parts) == shownFields {
			parts = append(parts, "…")
			break
		}
		kind := "null"
		switch v := o.Get(key).(type) {
		case goja.String:
			kind = "string"
		case *goja.Object:
			if kind = "object"; v.ClassName() == "Array" {
				kind = fmt.Sprintf("list of %d", v.Get("length").ToInteger())
			}
		default:
			if t := v.ExportType(); t != nil {
				kind = map[bool]string{true: "boolean", false: "number"}[t.Kind().String() == "bool"]
			}
		}
		parts = append(parts, gate.Name(key)+": "+kind)
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// within returns the field of an object that contains a property, as in resource: { text }, and
// how to read it, or "".
func (r *runtime) within(o *goja.Object, property string) string {
	keys := o.Keys()
	for _, key := range keys[:min(len(keys), maxKeys)] {
		v, ok := o.Get(key).(*goja.Object)
		if !ok {
			continue
		}
		name, form, read := gate.Name(key), "{ %s }", "."
		if v.ClassName() == "Array" {
			if v, ok = v.Get("0").(*goja.Object); !ok {
				continue
			}
			form, read = "[{ %s }]", "[0]."
		}
		if own := v.Keys(); len(own) <= maxKeys && slices.Contains(own, property) {
			property = gate.Name(property)
			return "there is " + name + ": " + fmt.Sprintf(form, property) + ", so write ." + name + read + property
		}
	}
	return ""
}

// isJSONText reports whether a text is a JSON object or array.
func isJSONText(text string) bool {
	text = strings.TrimSpace(text)
	return (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && json.Valid([]byte(text))
}

// droppedNotes says where a list method does not await its callback, for programs that left calls
// behind.
func (r *runtime) droppedNotes(late []*hostCall) []string {
	at := dropsPromises.FindStringSubmatchIndex(r.prog.Code)
	if len(late) == 0 || at == nil {
		return nil
	}
	method, line := r.prog.Code[at[2]:at[3]], 1+strings.Count(r.prog.Code[:at[0]], "\n")
	switch {
	case method != "map":
		method += " does not await its async function"
	case strings.Contains(r.prog.Code, "Promise."):
		return nil // it may await them
	default:
		method = "the promises of map are not awaited"
	}
	return []string{fmt.Sprintf("line %d: %s: use for (const x of list) { … }, or await Promise.all(list.map(async …))", line, method)}
}
