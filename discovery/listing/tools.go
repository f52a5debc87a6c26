// Package listing reads the listings of servers, entry by entry: it corrects or leaves out invalid
// entries, cleans texts, and bounds everything. It does not send requests.
package listing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

const (
	// MaxTools is how many tools of a server are taken.
	MaxTools = 20_000
	maxPages = 1_000
	// maxName is how long the name of a tool or a prompt may be: it is in
	// every text about it.
	maxName = 256
	// maxURI is how long the address of a resource may be.
	maxURI = 2000
)

// AnyObject is the schema of a tool without a usable one.
var AnyObject = json.RawMessage(`{"type":"object"}`)

// Split splits the result of tools/list.
func Split(page json.RawMessage) (tools []json.RawMessage, cursor string, err error) {
	var p struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor json.RawMessage   `json:"nextCursor"`
	}
	if err := json.Unmarshal(page, &p); err != nil {
		return nil, "", fmt.Errorf("the result of tools/list is not a list of tools: %w", err)
	}
	if len(p.NextCursor) > 0 && string(p.NextCursor) != "null" {
		if err := json.Unmarshal(p.NextCursor, &cursor); err != nil {
			return nil, "", fmt.Errorf("nextCursor in tools/list is %s, not a string", gate.Cut(string(p.NextCursor), 40))
		}
	}
	return p.Tools, cursor, nil
}

// A Reader decodes tools one by one. What is wrong with one of them is fixed or
// leaves that one out, and is noted in Problems either way.
type Reader struct {
	Tools    []discovery.ListedTool
	Problems []string
	names    map[string]bool
}

// Problem notes what is wrong with the list.
func (r *Reader) Problem(format string, args ...any) {
	r.Problems = append(r.Problems, gate.Clean(fmt.Sprintf(format, args...)))
}

// Add decodes one entry of tools/list.
func (r *Reader) Add(raw json.RawMessage) {
	var t struct {
		Name         json.RawMessage `json:"name"`
		Title        json.RawMessage `json:"title"`
		Description  json.RawMessage `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
		Annotations  json.RawMessage `json:"annotations"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		r.Problem("a tool was left out: it is %s, not an object", gate.Cut(string(raw), 40))
		return
	}
	var name string
	if err := json.Unmarshal(t.Name, &name); err != nil || name == "" {
		r.Problem("a tool was left out: its name is %s", gate.Cut(orNone(t.Name), 40))
		return
	}
	switch {
	case gate.Hides(name) || strings.ContainsAny(name, "\r\n\t"):
		r.Problem("tool %q was left out: its name has invisible characters", gate.Cut(name, 60))
		return
	case len(name) > maxName:
		r.Problem("tool %q was left out: its name has %d bytes, of at most %d", gate.Cut(name, 60), len(name), maxName)
		return
	case r.names[name]:
		r.Problem("tool %q is listed twice: the first one counts", name)
		return
	}
	if r.names == nil {
		r.names = make(map[string]bool)
	}
	r.names[name] = true
	r.Tools = append(r.Tools, discovery.ListedTool{
		Name:         name,
		Title:        r.text(name, "title", t.Title),
		Description:  r.text(name, "description", t.Description),
		InputSchema:  r.inputSchema(name, t.InputSchema),
		OutputSchema: r.outputSchema(name, t.OutputSchema),
		Annotations:  r.annotations(name, t.Annotations),
	})
}

func (r *Reader) text(tool, field string, raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		r.Problem("tool %q: %s is not text and was ignored", tool, field)
		return ""
	}
	return gate.Clean(s)
}

// inputSchema keeps every object; the protocol wants one that describes an
// object, but a root that is a $ref or a oneOf does so without saying it.
func (r *Reader) inputSchema(tool string, raw json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		r.Problem("tool %q: inputSchema is %s and was taken as any object", tool, gate.Cut(orNone(raw), 40))
		return AnyObject
	}
	if len(object) == 0 {
		return AnyObject
	}
	if kind, ok := object["type"]; ok && !strings.Contains(string(kind), `"object"`) {
		r.Problem("tool %q: inputSchema is of type %s and was taken as any object", tool, gate.Cut(string(kind), 40))
		return AnyObject
	}
	return gate.Descriptions(compact(raw))
}

func (r *Reader) outputSchema(tool string, raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] != '{' {
		r.Problem("tool %q: outputSchema is %s and was ignored", tool, gate.Cut(string(raw), 40))
		return nil
	}
	return gate.Descriptions(compact(raw))
}

// annotations keeps the hints that are booleans. For the others the protocol's
// defaults hold, which assume the worst, so a tool is never trusted by mistake.
func (r *Reader) annotations(tool string, raw json.RawMessage) discovery.Annotations {
	var a discovery.Annotations
	if len(raw) == 0 || string(raw) == "null" {
		return a
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		r.Problem("tool %q: annotations are not an object and were ignored", tool)
		return a
	}
	for _, h := range []struct {
		name string
		to   **bool
	}{
		{"readOnlyHint", &a.ReadOnly}, {"destructiveHint", &a.Destructive},
		{"idempotentHint", &a.Idempotent}, {"openWorldHint", &a.OpenWorld},
	} {
		value, ok := fields[h.name]
		if !ok || string(value) == "null" {
			continue
		}
		var b bool
		if err := json.Unmarshal(value, &b); err != nil {
			r.Problem("tool %q: annotation %s is %s, not true or false, and was ignored", tool, h.name, gate.Cut(string(value), 40))
			continue
		}
		*h.to = &b
	}
	return a
}

// compact takes out white space, as the cache does: a listing from there and
// the same from the server are then equal.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

func orNone(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "missing"
	}
	return string(raw)
}

// A Pager decides whether another page of tools is fetched.
type Pager struct {
	seen  map[string]bool
	pages int
}

var errEndless = errors.New("tools/list does not end")

// Next reports whether to fetch the page at cursor. An error is the reason the list
// ends with the earlier pages.
func (p *Pager) Next(cursor string, tools int) (bool, error) {
	p.pages++
	switch {
	case cursor == "":
		return false, nil
	case p.seen[cursor]:
		return false, fmt.Errorf("%w: it repeats a page", errEndless)
	case tools >= MaxTools:
		return false, fmt.Errorf("%w: more than %d tools", errEndless, MaxTools)
	case p.pages >= maxPages:
		return false, fmt.Errorf("%w: more than %d pages", errEndless, maxPages)
	}
	if p.seen == nil {
		p.seen = make(map[string]bool)
	}
	p.seen[cursor] = true
	return true, nil
}

// TTL is how long a page of tools is good for, as servers of protocol
// 2026-07-28 say in ttlMs; zero if it does not say, or says "not at all".
func TTL(page json.RawMessage) time.Duration {
	var p struct {
		TTL float64 `json:"ttlMs"`
	}
	if json.Unmarshal(page, &p) != nil || !(p.TTL > 0) {
		return 0
	}
	return time.Duration(min(p.TTL, float64((24*time.Hour).Milliseconds()))) * time.Millisecond
}
