package schema

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Document is a JSON document in which references are resolved.
type Document struct{ Root any }

// Read reads a document. Invalid JSON is an empty schema.
func Read(raw []byte) Document {
	v, _ := Decode(raw)
	return Document{v}
}

// Object returns the document's own schema, or nil if it is not an object.
func (d Document) Object() *Object {
	o, _ := d.Root.(*Object)
	return o
}

// Find returns the target of a reference, which must be a JSON pointer into the document. It does
// not follow references by anchor or $id, or into a schema with an $id.
func (d Document) Find(ref string) (target any, ok bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	switch {
	case fragment == "":
		return d.Root, true
	case fragment[0] != '/':
		return nil, false
	}
	target = d.Root
	for part := range strings.SplitSeq(fragment[1:], "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch at := target.(type) {
		case *Object:
			if !at.Has(part) || d.Embedded(at) {
				return nil, false
			}
			target = at.Get(part)
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			target = at[i]
		default:
			return nil, false
		}
	}
	return target, true
}

// Embedded reports whether o is a separate document within d: it has an $id, to which its
// references are relative. Schemas of tools rarely have one.
func (d Document) Embedded(o *Object) bool {
	id := o.Text("$id")
	return any(o) != d.Root && id != "" && id[0] != '#'
}

// MaxHops bounds chains of references.
const MaxHops = 100

// Resolve follows the references of a schema, and returns the last schema, or nil if that is not
// an object, or if a reference is unresolved or circular.
func (d Document) Resolve(v any) *Object {
	for range MaxHops {
		o, _ := v.(*Object)
		ref := o.Text("$ref")
		if ref == "" {
			return o
		}
		if v, _ = d.Find(ref); v == nil {
			return nil
		}
	}
	return nil
}

// Types returns the names in the type of a schema, as written.
func (o *Object) Types() []string {
	switch t := o.Get("type").(type) {
	case string:
		return []string{t}
	case []any:
		return Strings(t)
	}
	return nil
}

// Values returns the values that a schema accepts by const or enum; ok is false if it has neither.
func (o *Object) Values() (values []any, ok bool) {
	if o.Has("const") {
		return []any{o.Get("const")}, true
	}
	values, ok = o.Get("enum").([]any)
	return values, ok
}

// Required returns the names of required properties, without duplicates.
func (o *Object) Required() []string {
	var names []string
	for _, name := range Strings(o.List("required")) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Properties returns the properties of a schema by name.
func (o *Object) Properties() *Object { return o.Object("properties") }

// Items returns the schemas of the first elements of a list, and that of the others; stated is
// false if the schema does not restrict those.
func (o *Object) Items() (first []any, rest any, stated bool) {
	if first = o.List("prefixItems"); first == nil {
		if first = o.List("items"); first != nil { // before draft 2020-12
			return first, o.Get("additionalItems"), o.Has("additionalItems")
		}
	}
	return first, o.Get("items"), o.Has("items")
}

// Branches returns the subschemas under keys such as "anyOf".
func (o *Object) Branches(keys ...string) (list []any) {
	for _, key := range keys {
		list = append(list, o.List(key)...)
	}
	return list
}

// Strings returns the strings of a list.
func Strings(list []any) []string {
	names := make([]string, 0, len(list))
	for _, v := range list {
		if name, ok := v.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// KindOf returns the JSON Schema type of a value.
func KindOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "boolean"
	case *Object:
		return "object"
	case []any:
		return "array"
	}
	return "null"
}
