package find

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/broker/usage"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

const (
	// maxQueries is how many queries one search may have, and hitsOfSeveral how many hits
	// each of them has by default.
	maxQueries    = 8
	hitsOfSeveral = 4
)

// A SeveralAnswer is what search_tools answers to several queries, in their order. A tool
// that an earlier query found has only its name in a later one.
type SeveralAnswer struct {
	Answers []QueryAnswer `json:"answers"`
	// Instructions are as in SearchAnswer, and Note says in words what the rest does not.
	Instructions []ServerInstructions `json:"instructions,omitempty"`
	Note         string               `json:"note,omitempty"`
}

// A QueryAnswer is the answer to one of several queries.
type QueryAnswer struct {
	Query string `json:"query"`
	SearchAnswer
}

// queriesOf returns the queries of a search that has several: those of "queries", or of
// "query" if it is a list.
func queriesOf(a surface.Arguments) ([]string, error) {
	name := "queries"
	if !a.Given(name) {
		name = "query"
		if !strings.HasPrefix(string(a[name]), "[") {
			return nil, nil
		}
	} else if strings.TrimSpace(a.Text("query")) != "" {
		return nil, fmt.Errorf("use query or queries, not both")
	}
	var list []string
	if text := a.Text(name); json.Unmarshal([]byte(text), &list) != nil {
		return nil, fmt.Errorf(`%s is a list of texts, such as ["read a file", "send an email"]`, name)
	}
	if len(list) == 0 || len(list) > maxQueries {
		return nil, fmt.Errorf("%s has %d entries: use 1 to %d", name, len(list), maxQueries)
	}
	for i, q := range list {
		if strings.TrimSpace(q) == "" {
			return nil, fmt.Errorf("entry %d of %s is empty: write what the tool should do", i+1, name)
		}
	}
	return list, nil
}

// answer answers a search of one query or of several.
func (f *Finder) answer(ctx context.Context, a surface.Arguments, who usage.Who, callsOnly bool, p patience) (any, error) {
	req, err := searchRequest(a)
	if err != nil {
		return nil, err
	}
	req.who, req.learns = who, true
	queries, err := queriesOf(a)
	if err != nil {
		return nil, err
	}
	if queries == nil {
		return f.search(ctx, req, callsOnly, p)
	}
	if !a.Given("limit") {
		req.Limit = hitsOfSeveral
	}
	all := SeveralAnswer{Answers: make([]QueryAnswer, 0, len(queries))}
	shown := map[string]bool{}
	for _, q := range queries {
		req.Query = q
		found, err := f.search(ctx, req, callsOnly, p)
		if err != nil {
			return nil, err
		}
		for i, h := range found.Tools {
			if h.Kind != "" {
				continue
			}
			if shown[h.Name] {
				found.Tools[i] = SearchHit{Name: h.Name, Server: h.Server}
			}
			shown[h.Name] = true
		}
		all.Answers = append(all.Answers, QueryAnswer{Query: gate.Cut(cleanWords(q), 100), SearchAnswer: found})
		p.limit = 0 // waited for with the first
	}
	return all, nil
}
