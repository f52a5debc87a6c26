package bridge

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/internal/schema"
)

// object judges the keys of an object and their values. A null for an optional property that does
// not accept it is omitted: models write it for no value.
func (j *judge) object(o *schema.Object, l Literal, path string, strict bool) []Finding {
	properties, required := o.Properties(), o.Required()
	known := sortedKeys(properties)
	extra, others := j.others(o, properties, strict)
	var found []Finding
	meant := make(map[string]bool) // misspelt keys
	given := make(map[string]bool)
	for i := range l.Fields {
		f := &l.Fields[i]
		if f.Value.Kind == Undefined {
			continue
		}
		at := join(path, f.Name)
		ok := properties.Has(f.Name)
		patterns, certain := matching(o, f.Name)
		var wrong []Finding
		if ok {
			wrong = j.check(properties.Get(f.Name), f.Value, at, strict)
		}
		for _, p := range patterns {
			wrong = append(wrong, j.check(p, f.Value, at, strict)...)
		}
		if ok && len(wrong) > 0 && f.Value.isNull() && !slices.Contains(required, f.Name) {
			j.omitted = append(j.omitted, f)
			continue
		}
		given[f.Name] = true
		found = append(found, wrong...)
		switch {
		case ok || len(patterns) > 0 || !certain:
		case others:
			found = append(found, j.check(extra, f.Value, at, strict)...)
		default:
			u := Finding{Offset: f.Offset, path: at, kind: unknownKey, Message: "unknown parameter " + quoted(at)}
			if near := nearestKey(f.Name, known, l.Fields); near != "" {
				meant[near] = true
				u.Message += fmt.Sprintf(", did you mean %s?", quoted(near))
			} else if len(known) > 0 && len(known) <= 12 {
				u.Message += "; there are " + strings.Join(gate.Names(known), ", ")
			}
			found = append(found, u)
		}
	}
	if l.Open {
		return found
	}
	return append(found, missing(required, l, path, known, given, meant)...)
}

// others returns the schema of keys that are not properties, or false if they are
// forbidden.
func (j *judge) others(o, properties *schema.Object, strict bool) (extra any, allowed bool) {
	if o.Has("additionalProperties") {
		extra = o.Get("additionalProperties")
		return extra, extra != false
	}
	return nil, !strict || properties.Size() == 0 || o.Has("patternProperties")
}

// matching returns the schemas of patternProperties for a key; certain is false if a pattern is
// not supported.
func matching(o *schema.Object, key string) (schemas []any, certain bool) {
	patterns := o.Object("patternProperties")
	certain = true
	for _, p := range sortedKeys(patterns) {
		re, err := regexp.Compile(p)
		switch {
		case err != nil:
			certain = false
		case re.MatchString(key):
			schemas = append(schemas, patterns.Get(p))
		}
	}
	return schemas, certain
}

// sortedKeys returns the names of members, sorted.
func sortedKeys(o *schema.Object) []string {
	if o == nil {
		return nil
	}
	return slices.Sorted(slices.Values(o.Keys))
}

// nearestKey returns the known key that was probably meant, if it is not given already.
func nearestKey(name string, known []string, given []Field) string {
	for _, near := range nearest.Names(name, known, 3) {
		if !slices.ContainsFunc(given, func(f Field) bool { return f.Name == near }) {
			return near
		}
	}
	return ""
}

// missing returns findings for the missing required keys, except those whose misspelling has a
// finding already.
func missing(required []string, l Literal, path string, known []string, given, meant map[string]bool) []Finding {
	var found []Finding
	for _, name := range required {
		if given[name] || meant[name] {
			continue
		}
		f := Finding{Offset: l.Offset, path: join(path, name), kind: missingKey, Message: "missing parameter " + quoted(join(path, name))}
		for _, near := range nearest.Names(name, slices.Sorted(maps.Keys(given)), 1) {
			if !slices.Contains(known, near) {
				f.Message += fmt.Sprintf(" (%s was given)", quoted(near))
			}
		}
		found = append(found, f)
	}
	return found
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// maxAccepted bounds the accepted values in a message.
const maxAccepted = 12

func valueFinding(path, got string, offset int, accepted []string) Finding {
	f := Finding{Offset: offset, path: path, kind: wrongValue, accepted: accepted, got: got}
	bare := make(map[string]string, len(accepted))
	for _, a := range accepted {
		text, err := strconv.Unquote(a)
		if err != nil {
			text = a
		}
		bare[text] = a
	}
	var near []string
	for _, n := range nearest.Names(strings.Trim(got, `"`), slices.Sorted(maps.Keys(bare)), 3) {
		near = append(near, bare[n])
	}
	shown := accepted
	more := ""
	if len(shown) > maxAccepted {
		rest := slices.DeleteFunc(slices.Clone(accepted), func(a string) bool { return slices.Contains(near, a) })
		shown = append(slices.Clone(near), rest[:maxAccepted-len(near)]...)
		more = fmt.Sprintf(", … %d more", len(accepted)-maxAccepted)
	}
	clipped := make([]string, len(shown))
	for i, s := range shown {
		clipped[i] = gate.Cut(gate.Spelt(s), 60)
	}
	f.Message = fmt.Sprintf("%s is %s; accepted: %s%s", quoted(path), got, strings.Join(clipped, ", "), more)
	if len(near) > 0 {
		f.Message += "; did you mean " + gate.Cut(gate.Spelt(near[0]), 60) + "?"
	}
	return f
}
