package link

import (
	"errors"
	"strconv"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// calls are the calls in flight on a session, and the pages that they asked for.
type calls struct {
	mu     sync.Mutex
	tokens int64
	live   map[*Call]bool
	pages  map[string]func() // by the server's id of a page: called when the page is done
}

// begin adds a call.
func (s *calls) begin(c *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.o.OnProgress != nil {
		s.tokens++
		c.token = "call-" + strconv.FormatInt(s.tokens, 10)
	}
	if s.live == nil {
		s.live = make(map[*Call]bool)
	}
	s.live[c] = true
}

// end removes a call. Its progress is not reported any more when end returns.
func (s *calls) end(c *Call) {
	s.mu.Lock()
	delete(s.live, c)
	s.mu.Unlock()
	c.noMoreProgress()
}

// list returns the calls under way.
func (s *calls) list() []*Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Call, 0, len(s.live))
	for c := range s.live {
		list = append(list, c)
	}
	return list
}

// askers returns the calls one of which q belongs to. They are all of one
// caller; if that cannot be known, the error says so.
func (s *calls) askers(q mcp.InputRequest) ([]*Call, error) {
	calls := s.list()
	if len(calls) == 0 {
		return nil, errors.New("no call is running that this could belong to")
	}
	for _, c := range calls {
		if c.caller() == calls[0].caller() {
			continue
		}
		var e *InputError
		for _, c := range calls {
			e = c.refuse(q, "calls of several clients are running on this server, and it did not say which one it asks", "call again", true)
		}
		return nil, e
	}
	return calls, nil
}

// maxPagesAsked bounds the remembered pages that were not completed.
const maxPagesAsked = 100

// openPage remembers that the caller of c is asked to open a page.
func (s *calls) openPage(page string, c *Call) {
	talker, id := c.o.Talker, questions.PageID(c.server, page)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages == nil || len(s.pages) >= maxPagesAsked {
		s.pages = make(map[string]func())
	}
	s.pages[page] = func() { talker.PageDone(id) }
}

// pageDone passes on that a page is done.
func (s *calls) pageDone(page string) {
	s.mu.Lock()
	done := s.pages[page]
	delete(s.pages, page)
	s.mu.Unlock()
	if done != nil {
		done()
	}
}
