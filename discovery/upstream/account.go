package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sendConnected is send for a server to which each person connects an account. It asks
// a person without one to do so, if the client can show pages, or returns the address.
func (c *call) sendConnected(ctx context.Context) (json.RawMessage, error) {
	s, o := c.server, c.o
	raw, err := c.send(ctx)
	need, ok := errors.AsType[*ConnectError](err)
	p := personOf(ctx)
	if !ok || need.State != StateNeedsSignIn || p == nil {
		return raw, err
	}
	if _, partial := errors.AsType[transport.SignInNeeded](need.Err); !partial {
		s.instances.endAll(personalKey + p.Key())
	}
	page, err := s.host.opts.People.Page(ctx, s.cfg, p)
	if err != nil {
		return nil, &ConnectError{Server: s.cfg.Name, State: StateFailed, Hint: "try again later", Err: err}
	}
	need.Hint = "ask the user to connect their account of it, at " + page.URL + ", and then call again"
	if o == nil || o.Talker == nil || !o.Talker.Capabilities().URL {
		return nil, need
	}
	connected, err := c.askToConnect(ctx, p, page)
	if err != nil || !connected {
		return nil, errors.Join(need, err)
	}
	return c.send(ctx)
}

const (
	// maxConnecting bounds the wait of a call for a person who has agreed to open the
	// page; a later call finds the account.
	maxConnecting = 30 * time.Second
	connectPoll   = 300 * time.Millisecond
)

// askToConnect asks the person to open the page, and waits for a while until it was
// of use.
func (c *call) askToConnect(ctx context.Context, p *Person, page Page) (bool, error) {
	s := c.server
	asking := link.NewCall(ctx, s.cfg.Name, c.tool, c.o, s.cfg.CallTimeout, func() {})
	defer asking.Stop()
	answer, err := asking.Ask(ctx, &mcp.ElicitParams{
		Mode: "url", URL: page.URL, ElicitationID: page.URL,
		Message: fmt.Sprintf("This is a page of the broker, where %s connects their account of %s.", p.Name, s.cfg.Name),
	})
	if err != nil {
		return false, err
	}
	if answer.(*mcp.ElicitResult).Action != "accept" { // Ask has seen to what it is
		return false, nil
	}
	defer asking.Pause()()
	limited, cancel := context.WithTimeout(ctx, maxConnecting)
	defer cancel()
	tick := time.NewTicker(connectPoll)
	defer tick.Stop()
	for !page.Done(limited) {
		select {
		case <-tick.C:
		case <-limited.Done():
			return false, nil
		}
	}
	return true, nil
}
