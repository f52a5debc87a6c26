package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Part says which part of a result is wanted. The zero Part is all of it.
type Part struct {
	// Path leads into the value: "items[3].title" or "/items/3/title".
	Path string
	// Offset and Limit choose elements of an array, or characters of a text.
	// Limit zero means to the end.
	Offset, Limit int
}

// Slice returns the part of a result as JSON: text becomes a JSON string, JSON
// keeps the order of its keys and the digits of its numbers. An error is a
// mistake in part, in words for the one who wrote it.
func Slice(item Item, data []byte, part Part) (json.RawMessage, error) {
	if part.Offset < 0 || part.Limit < 0 {
		return nil, errors.New("offset and limit are 0 or more")
	}
	if item.MIME != JSON {
		if part.Path != "" {
			return nil, errors.New("path: this is text, it has no parts; use offset and limit, in characters")
		}
		return json.Marshal(cutText(string(data), part))
	}
	v, err := follow(json.RawMessage(data), part.Path)
	if err != nil || part.Offset == 0 && part.Limit == 0 {
		return v, err
	}
	switch first(v) {
	case '[':
		return cutArray(v, part)
	case '"':
		var s string
		if err := json.Unmarshal(v, &s); err != nil {
			return nil, err
		}
		return json.Marshal(cutText(s, part))
	}
	return nil, fmt.Errorf("offset and limit choose elements of an array or characters of a text; here is %s", describe(v))
}

func cutText(s string, p Part) string {
	if p.Offset == 0 && p.Limit == 0 {
		return s
	}
	r := []rune(s)
	r = r[min(p.Offset, len(r)):]
	if p.Limit > 0 && p.Limit < len(r) {
		r = r[:p.Limit]
	}
	return string(r)
}

func cutArray(v json.RawMessage, p Part) (json.RawMessage, error) {
	var out bytes.Buffer
	out.WriteByte('[')
	n := 0
	err := elements(v, func(e json.RawMessage) bool {
		if n++; n <= p.Offset {
			return true
		}
		if p.Limit > 0 && n > p.Offset+p.Limit {
			return false
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.Write(e)
		return true
	})
	out.WriteByte(']')
	return out.Bytes(), err
}

// elements calls f with the elements of an array until it returns false.
func elements(v json.RawMessage, f func(json.RawMessage) bool) error {
	d := json.NewDecoder(bytes.NewReader(v))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		var e json.RawMessage
		if err := d.Decode(&e); err != nil {
			return err
		}
		if !f(e) {
			return nil
		}
	}
	return nil
}

// follow goes down a path.
func follow(v json.RawMessage, path string) (json.RawMessage, error) {
	steps, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	for i, step := range steps {
		next, err := child(v, step)
		if err != nil {
			return nil, fmt.Errorf("path %q: at %q: %w", path, strings.Join(steps[:i+1], "."), err)
		}
		v = next
	}
	return v, nil
}

// parsePath splits "a.b[0]" and "/a/b/0" (RFC 6901) into steps.
func parsePath(path string) ([]string, error) {
	if path == "" || path == "$" {
		return nil, nil
	}
	if strings.HasPrefix(path, "/") {
		steps := strings.Split(path[1:], "/")
		for i, s := range steps {
			steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
		}
		return steps, nil
	}
	var steps []string
	rest := strings.TrimPrefix(strings.TrimPrefix(path, "$"), ".")
	for rest != "" {
		if inner, after, ok := strings.Cut(strings.TrimPrefix(rest, "["), "]"); rest[0] == '[' {
			if !ok {
				return nil, fmt.Errorf("path %q: a bracket is not closed", path)
			}
			steps = append(steps, strings.Trim(inner, `"'`))
			rest = strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		steps = append(steps, rest[:end])
		rest = strings.TrimPrefix(rest[end:], ".")
	}
	return steps, nil
}

// child is the element or member of v that a step names.
func child(v json.RawMessage, step string) (json.RawMessage, error) {
	switch first(v) {
	case '[':
		index, err := strconv.Atoi(step)
		if err != nil {
			return nil, fmt.Errorf("here is %s; use an index", describe(v))
		}
		var found json.RawMessage
		n := 0
		err = elements(v, func(e json.RawMessage) bool {
			if n == index {
				found = e
			}
			n++
			return found == nil
		})
		if err == nil && found == nil {
			err = fmt.Errorf("there are only %d elements", n)
		}
		return found, err
	case '{':
		var o map[string]json.RawMessage
		if err := json.Unmarshal(v, &o); err != nil {
			return nil, err
		}
		if found, ok := o[step]; ok {
			return found, nil
		}
		return nil, fmt.Errorf("there is no %q; here is %s", step, describe(v))
	}
	return nil, fmt.Errorf("here is %s, which has no parts", describe(v))
}

func first(v json.RawMessage) byte {
	if t := bytes.TrimLeft(v, " \t\r\n"); len(t) > 0 {
		return t[0]
	}
	return 0
}

// describe says in a few words what a value is.
func describe(v json.RawMessage) string {
	switch first(v) {
	case '[':
		n := 0
		_ = elements(v, func(json.RawMessage) bool { n++; return true })
		return fmt.Sprintf("an array of %d", n)
	case '{':
		var o map[string]json.RawMessage
		_ = json.Unmarshal(v, &o)
		var keys []string
		for k := range o {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		const show = 12
		if len(keys) > show {
			return fmt.Sprintf("an object with %s and %d more", strings.Join(keys[:show], ", "), len(keys)-show)
		}
		return "an object with " + strings.Join(keys, ", ")
	case '"':
		return fmt.Sprintf("a text of %d bytes", len(v))
	}
	return clip(string(v), 40)
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
