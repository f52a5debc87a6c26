// Package results writes results to a state.Results and reads parts of them.
package results

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
	"github.com/mcpbroker/mcpbroker/state"
)

// A Part selects a part of a result. The zero Part is the whole result.
type Part struct {
	// Path leads into the value: "items[3].title" or "/items/3/title".
	Path string
	// Offset and Limit select elements of an array, or characters of a text. A zero Limit extends
	// to the end.
	Offset, Limit int
}

// Put stores data and returns its reference.
func Put(ctx context.Context, store state.Results, client, mime string, data []byte) (ref string, err error) {
	w, err := store.Create(ctx, client, mime)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(data); err != nil {
		w.Discard()
		return "", err
	}
	return w.Commit()
}

// Get returns a complete result.
func Get(ctx context.Context, store state.Results, client, ref string) (state.Result, []byte, error) {
	r, from, err := store.Open(ctx, client, ref)
	if err != nil {
		return state.Result{}, nil, err
	}
	defer from.Close()
	data, err := readAll(from, r.Bytes)
	if err != nil {
		return state.Result{}, nil, fmt.Errorf("read result %s: %w", ref, err)
	}
	return r, data, nil
}

// GetBase64 returns the bytes of a result as a JSON string in base64, unless that has
// more than most bytes.
func GetBase64(ctx context.Context, store state.Results, client, ref string, most int) (json.RawMessage, error) {
	r, from, err := store.Open(ctx, client, ref)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	if r.Bytes > int64(most)/4*3-2 {
		return nil, fmt.Errorf("%d bytes are too many for base64 in a script: at most %d (config: sandbox.maxResult)", r.Bytes, int64(most)/4*3-2)
	}
	data, err := readAll(from, r.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read result %s: %w", ref, err)
	}
	text := make(json.RawMessage, base64.StdEncoding.EncodedLen(len(data))+2)
	text[0], text[len(text)-1] = '"', '"'
	base64.StdEncoding.Encode(text[1:], data)
	return text, nil
}

func readAll(r io.Reader, size int64) ([]byte, error) {
	data := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err := data.ReadFrom(r)
	return data.Bytes(), err
}

// Slice returns the part of a result as JSON: a text becomes a JSON string; JSON keeps the order
// of its keys and the digits of its numbers. An error describes a mistake in part for its author.
func Slice(r state.Result, data []byte, part Part) (json.RawMessage, error) {
	return slice(context.Background(), r, bytes.NewReader(data), part, math.MaxInt)
}

// GetPart returns the part of a result as JSON, like Slice, unless it has more than most bytes. It
// reads only the necessary part of a text. For a result that is neither JSON nor text it returns
// only the state.Result.
func GetPart(ctx context.Context, store state.Results, client, ref string, part Part, most int) (state.Result, json.RawMessage, error) {
	r, from, err := store.Open(ctx, client, ref)
	if err != nil {
		return state.Result{}, nil, err
	}
	defer from.Close()
	if r.MIME != state.JSON && r.MIME != state.Text {
		return r, nil, nil
	}
	v, err := slice(ctx, r, from, part, most)
	return r, v, err
}

func slice(ctx context.Context, result state.Result, r io.Reader, part Part, most int) (json.RawMessage, error) {
	if part.Offset < 0 || part.Limit < 0 {
		return nil, errors.New("offset and limit are 0 or more")
	}
	if result.MIME != state.JSON {
		if part.Path != "" {
			return nil, errors.New("path: this is text, it has no parts; use offset and limit, in characters")
		}
		text, err := cutText(ctx, r, part, most)
		if err != nil {
			return nil, err
		}
		return json.Marshal(text)
	}
	data, err := readAll(r, result.Bytes)
	if err != nil {
		return nil, err
	}
	v, err := follow(ctx, data, part.Path)
	switch {
	case err != nil:
		return nil, err
	case part.Offset == 0 && part.Limit == 0:
	case first(v) == '[':
		v, err = cutArray(v, part)
	case first(v) == '"':
		var s string
		if err = json.Unmarshal(v, &s); err == nil {
			s, err = cutText(ctx, strings.NewReader(s), part, most)
			v = marshal(s)
		}
	default:
		err = fmt.Errorf("offset and limit choose elements of an array or characters of a text; here is %s", describe(v))
	}
	if err == nil && len(v) > most {
		err = fmt.Errorf("this has %d bytes, and at most %d are read at once: choose less with path, offset and limit", len(v), most)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

func marshal(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string cannot fail
	return b
}

// cutText reads the characters of a text that p selects.
func cutText(ctx context.Context, r io.Reader, p Part, most int) (string, error) {
	b := bufio.NewReader(r)
	var text strings.Builder
	for n := 0; p.Limit == 0 || n < p.Offset+p.Limit; n++ {
		if n%(64<<10) == 0 && ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		c, _, err := b.ReadRune()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
		if n < p.Offset {
			continue
		}
		if text.Len() >= most {
			return "", fmt.Errorf("this has over %d bytes, the most that is read at once: choose less with offset and limit", most)
		}
		text.WriteRune(c)
	}
	return text.String(), nil
}

func cutArray(v json.RawMessage, p Part) (json.RawMessage, error) {
	n, from, to := 0, 0, 0
	err := elements(v, func(e json.RawMessage) bool {
		if n++; n <= p.Offset {
			return true
		}
		if p.Limit > 0 && n > p.Offset+p.Limit {
			return false
		}
		to = cap(v) - cap(e) + len(e)
		if n == p.Offset+1 {
			from = cap(v) - cap(e)
		}
		return true
	})
	return slices.Concat(json.RawMessage("["), v[from:to], json.RawMessage("]")), err
}

// follow follows a path.
func follow(ctx context.Context, v json.RawMessage, path string) (json.RawMessage, error) {
	steps, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	if !jsonscan.Valid(v) {
		return nil, errBroken
	}
	for i, step := range steps {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
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
		var found json.RawMessage
		err := members(v, func(key string, e json.RawMessage) bool {
			if key == step {
				found = e // the last, as everywhere
			}
			return true
		})
		if err == nil && found == nil {
			err = fmt.Errorf("there is no %q; here is %s", step, describe(v))
		}
		return found, err
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
		var keys []string
		_ = members(v, func(key string, _ json.RawMessage) bool {
			keys = append(keys, gate.Cut(key, 60))
			return true
		})
		slices.Sort(keys)
		const show = 12
		if len(keys) > show {
			return fmt.Sprintf("an object with %s and %d more", strings.Join(keys[:show], ", "), len(keys)-show)
		}
		return "an object with " + strings.Join(keys, ", ")
	case '"':
		return fmt.Sprintf("a text of %d bytes", len(v))
	}
	return gate.Cut(string(v), 40)
}
