package find

import (
	"github.com/mcpbroker/mcpbroker/broker/usage"
	"github.com/mcpbroker/mcpbroker/index"
)

// maxMatched is how many of the best hits of a search a later call is compared with.
const maxMatched = 30

// usage returns what learns from a search, or nil.
func (r *SearchRequest) usage(o *Options) *usage.Store {
	if o.Usage == nil || r.who.Owner != "" && !o.LearnAll {
		return nil
	}
	return o.Usage
}

// query returns the query of a search for so many hits. Tools that were called after
// similar searches are raised in it.
func (s *search) query(limit int) index.Query {
	q := index.Query{Text: s.text, Server: s.server, Limit: limit}
	if u := s.req.usage(s.f.opts.Load()); u != nil && u.Knows(s.req.who.Owner) {
		q.Favor = u.Favor(s.req.who.Owner, index.Words(s.text))
	}
	return q
}

// learn notes what a client's search has found.
func (s *search) learn(results []result) {
	u := s.req.usage(s.f.opts.Load())
	if u == nil || !s.req.learns {
		return
	}
	var ids []string
	for _, r := range results[:min(len(results), maxMatched)] {
		if r.tool != nil {
			ids = append(ids, r.tool.ID)
		}
		for _, t := range r.also {
			ids = append(ids, t.ID)
		}
	}
	u.Searched(s.req.who, index.Words(s.text), ids)
}
