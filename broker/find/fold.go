package find

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// maxAlso bounds the ids of equal tools in one hit.
const maxAlso = 8

// fold makes one result of equal tools of several servers, at the rank of the best of
// them. Tools of servers that the query names stay, since its author tells them apart.
// It sets s.folded if the last result is equal to one of the first that are shown, which may
// have more equals.
// Forks that differ, with the same name and description, stand side by side: apart, the
// second looks like another tool, and is missed.
func (s *search) fold(results []result, shown int) []result {
	var groups [][]result
	byName := map[string][]int{} // where in groups
	for _, r := range results {
		s.folded = false
		if r.tool == nil {
			groups = append(groups, []result{r})
			continue
		}
		key := stemName(r.tool)
		at := -1
		for _, i := range byName[key] {
			head := groups[i][0].tool
			if s.folds(r.tool) && s.folds(head) && s.same(head, r.tool) {
				groups[i][0].also = append(groups[i][0].also, r.tool)
				at, s.folded = -2, i < shown
				break
			}
			if head.Name == r.tool.Name && head.Description == r.tool.Description && (head.Description != "" || bytes.Equal(head.InputSchema, r.tool.InputSchema)) {
				at = i
			}
		}
		switch {
		case at == -2:
		case at >= 0:
			groups[at] = append(groups[at], r)
		default:
			byName[key] = append(byName[key], len(groups))
			groups = append(groups, []result{r})
		}
	}
	return slices.Concat(groups...)
}

// folds reports whether a tool may share its place with others.
func (s *search) folds(t *discovery.Tool) bool {
	return !s.req.Expand && s.server == "" && !strings.Contains(s.lower, strings.ToLower(t.Server))
}

// same reports whether two tools with one stem do the same: their parameters and marks
// are equal, and their descriptions have most of their words in common.
func (s *search) same(a, b *discovery.Tool) bool {
	if a.Server == b.Server {
		return false
	}
	if !bytes.Equal(a.InputSchema, b.InputSchema) && s.f.shapes.get(s.scope, a) != s.f.shapes.get(s.scope, b) {
		return false
	}
	if a.Description != b.Description && !alike(a.Description, b.Description) {
		return false
	}
	marks := s.renderer.marks
	return marks == nil || marks.Writes(a) == marks.Writes(b) && marks.Asks(a) == marks.Asks(b)
}

// stemName returns the name of a tool without its style and the name of its server:
// "listissues" of "github_list_issues" and "listIssues".
func stemName(t *discovery.Tool) string {
	name, server := plainWord(t.Name), plainWord(t.Server)
	if short, ok := strings.CutPrefix(name, server); ok && short != "" {
		return short
	}
	return name
}

// plainWord returns the letters and digits of a name in lower case.
func plainWord(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == '_' || r == '-' || r == '.' || r == '/' || r == ' ':
			return -1
		}
		return r
	}, name)
}

// alike reports whether two descriptions have more than half of their words in common.
func alike(a, b string) bool {
	const most = 400 // bytes: what a tool does comes first
	words := func(text string) map[string]bool {
		set := map[string]bool{}
		for w := range strings.FieldsSeq(strings.ToLower(text[:min(len(text), most)])) {
			set[strings.Trim(w, ".,;:()`'\"")] = true
		}
		return set
	}
	x, y := words(a), words(b)
	both := 0
	for w := range x {
		if y[w] {
			both++
		}
	}
	return 2*both > len(x)+len(y)-both
}

// A shapeCache caches the shapes of the tools of one catalogue. The zero value is ready
// to use. It is safe for concurrent use.
type shapeCache struct {
	mu      sync.Mutex
	catalog *discovery.Catalog
	shapes  map[*discovery.Tool]string
}

// get returns the names and types of the parameters of a tool.
func (c *shapeCache) get(catalog *discovery.Catalog, t *discovery.Tool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.catalog != catalog || c.shapes == nil {
		c.catalog, c.shapes = catalog, map[*discovery.Tool]string{}
	}
	shape, ok := c.shapes[t]
	if !ok {
		shape = shapeOf(t.InputSchema)
		c.shapes[t] = shape
	}
	return shape
}

func shapeOf(schema json.RawMessage) string {
	var s struct {
		Properties map[string]struct {
			Type any   `json:"type"`
			Enum []any `json:"enum"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return string(schema)
	}
	slices.Sort(s.Required)
	text, err := json.Marshal(s) // keys of maps are sorted
	if err != nil {
		return string(schema)
	}
	return string(text)
}
