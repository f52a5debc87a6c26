package hint

import (
	"fmt"
	"sync"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/internal/results"
)

// Partials records lists that tools returned during one execution and that may be
// incomplete. It is safe for concurrent use.
type Partials struct {
	mu    sync.Mutex
	lists map[listQuery]*partial
	tools []string // in the order of their first incomplete list
}

// A listQuery identifies a list: calls for different pages of it have the same
// listQuery.
type listQuery struct{ tool, query string }

// A partial records the returned pages of one list.
type partial struct {
	page  results.Page // the longest incomplete page
	open  bool         // page is set
	ended bool         // another call returned the end of the list
}

const (
	// maxLists bounds the recorded lists of an execution.
	maxLists = 500
	// maxPartials bounds the tools that one answer names.
	maxPartials = 3
)

// Add records the result of a call.
func (p *Partials) Add(r bridge.Record) {
	if r.Status != bridge.StatusOK {
		return
	}
	page, ok := results.PageOf(r.Args, r.Value)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := listQuery{r.ID, page.Query}
	l := p.lists[key]
	if l == nil {
		if len(p.lists) == maxLists {
			return
		}
		if p.lists == nil {
			p.lists = map[listQuery]*partial{}
		}
		l = &partial{}
		p.lists[key] = l
	}
	if !page.More() {
		l.ended = true
		return
	}
	if !l.open {
		p.tools = append(p.tools, r.ID)
	}
	if !l.open || page.Items > l.page.Items {
		l.page = page
	}
	l.open = true
}

// Notes returns a note for each tool with an incomplete list, once in an execution.
func (p *Partials) Notes() (notes []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	said, more := map[string]bool{}, 0
	for _, tool := range p.tools {
		if said[tool] {
			continue
		}
		said[tool] = true
		page, ok := p.incomplete(tool)
		switch {
		case !ok:
		case len(notes) == maxPartials:
			more++
		case page.Cursor:
			notes = append(notes, fmt.Sprintf("%s returned %d and says that there are more", tool, page.Items))
		default:
			notes = append(notes, fmt.Sprintf("%s returned %d, as many as asked: there may be more", tool, page.Items))
		}
	}
	if more > 0 {
		notes = append(notes, fmt.Sprintf("lists of %d more tools may continue", more))
	}
	return notes
}

// incomplete returns a page of the tool after which its list may continue.
func (p *Partials) incomplete(tool string) (page results.Page, ok bool) {
	for key, l := range p.lists {
		if key.tool == tool && l.open && !l.ended && (!ok || l.page.Items > page.Items) {
			page, ok = l.page, true
		}
	}
	return page, ok
}
