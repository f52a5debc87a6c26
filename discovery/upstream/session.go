package upstream

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and servers use them still

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/hide"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/listing"
	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lines"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session is one live connection to a server.
type session struct {
	mcp       *mcp.ClientSession
	proc      *launch.Process // nil for a remote server
	transport string
	era       era
	handled   func(method string) // called after a notification of the server was handled; may be nil
	hangUp    func()              // cancels answers to the server in progress; may be nil
	cleanup   func()              // frees what the transport holds; may be nil

	gone   chan struct{} // closed when the connection has ended
	over   chan struct{} // closed when that is recorded in the server
	listed chan struct{} // closed when the first listing of this session succeeded or failed
	taught chan struct{} // likewise, for its skills

	inFlight int       // guarded by the server's mutex
	leaving  bool      // likewise: end when nothing is in flight
	lists    bool      // likewise: tools/list was answered
	staleAt  time.Time // likewise: time at which to list the tools again; zero for never
	probe    *probe    // likewise: last check whether the session exists, or nil

	tokens atomic.Int64
	mu     sync.Mutex
	calls  map[*liveCall]bool
	pages  map[string]func() // by the server's id of a page: called when the page is done

	asked    func()                 // called when the server asks a question outside a result
	promised questions.Capabilities // announced to the server
	logs     *lines.Ring            // receives the server's log; may be nil
	hide     *hide.Hider            // hides the secrets passed to the server
	logging  sync.Once
	log      *slog.Logger // may be nil
	panics   sync.Once    // logs the stack of the first panic
}

// newSession returns a session that is not open yet.
func newSession(h *hide.Hider) *session {
	return &session{
		hide:   h,
		gone:   make(chan struct{}),
		over:   make(chan struct{}),
		listed: make(chan struct{}),
		taught: make(chan struct{}),
		calls:  make(map[*liveCall]bool),
	}
}

// client makes the SDK's client for one session.
func (s *session) client(impl *mcp.Implementation, toolsChanged func()) *mcp.Client {
	o := &mcp.ClientOptions{
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { toolsChanged() },
		PromptListChangedHandler:    func(context.Context, *mcp.PromptListChangedRequest) { toolsChanged() },
		ResourceListChangedHandler:  func(context.Context, *mcp.ResourceListChangedRequest) { toolsChanged() },
		ProgressNotificationHandler: s.onProgress,
	}
	s.handleMessages(o)
	c := mcp.NewClient(impl, o)
	c.AddReceivingMiddleware(s.settled, s.guarded, s.rootsQuestions)
	c.AddSendingMiddleware(s.guarded)
	sendsSkillMethods(c)
	return c
}

func (s *session) onProgress(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string)
	for _, c := range s.live() {
		if c.token != "" && c.token == token {
			c.progress(req.Params.Progress, req.Params.Total, s.hide.In(gate.Clean(req.Params.Message)))
		}
	}
}

// call sends one tools/call and returns its result as it came.
func (s *session) call(c *liveCall, args json.RawMessage) (result json.RawMessage, err error) {
	defer s.recovered("tools/call", &err)
	params := &mcp.CallToolParams{Name: c.tool, Arguments: args, Meta: maps.Clone(c.o.Meta)}
	if c.o.OnProgress != nil {
		c.token = "call-" + strconv.FormatInt(s.tokens.Add(1), 10)
		params.SetProgressToken(c.token)
	}
	s.mu.Lock()
	s.calls[c] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.calls, c)
		s.mu.Unlock()
		c.noMoreProgress()
	}()
	if s.era == eraModern {
		meta := params.GetMeta()
		if meta == nil {
			meta = make(map[string]any)
		}
		meta[mcp.MetaKeyClientCapabilities] = c.capabilities().Meta()
		if c.o.OnLog != nil {
			meta[mcp.MetaKeyLogLevel] = logLevel
		}
		params.SetMeta(meta)
	} else if c.o.OnLog != nil {
		s.listenToLogs(c.ctx)
	}
	return c.outcome(s.rounds(c.ctx, c, params))
}

// maxInstructions is how many characters of a server's instructions are stored. It is
// more than a scan reads, so a scan notices that there is more.
const maxInstructions = 64<<10 + 1

// list fetches all pages of tools/list. ttl is for how long they are good; zero
// if the server does not say.
func (s *session) list(ctx context.Context, server string) (l discovery.Listing, ttl time.Duration, err error) {
	defer s.recovered("tools/list", &err)
	l = discovery.Listing{Server: server, Transport: s.transport}
	if init := s.mcp.InitializeResult(); init != nil {
		l.Protocol = init.ProtocolVersion
		l.Instructions = gate.Cut(gate.Clean(init.Instructions), maxInstructions)
		if info := init.ServerInfo; info != nil {
			l.Description = gate.Clean(info.Title)
			l.Version = gate.Clean(strings.TrimSpace(info.Name + " " + info.Version))
		}
	}
	var reader listing.Reader
	var pages listing.Pager
	for cursor := ""; ; {
		raw, next, err := s.page(ctx, cursor, &reader, &ttl)
		if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok && rpc.Code == jsonrpc.CodeMethodNotFound && cursor == "" {
			reader.Problem("the server has no tools: it does not know tools/list")
			break
		}
		if err != nil {
			return l, 0, fmt.Errorf("list tools: %w", err)
		}
		for _, r := range raw {
			if len(reader.Tools) >= listing.MaxTools {
				break
			}
			reader.Add(r)
		}
		more, err := pages.Next(next, len(reader.Tools))
		if err != nil {
			reader.Problem("%v: the %d tools up to there are kept", err, len(reader.Tools))
		}
		if !more {
			break
		}
		cursor = next
	}
	l.Tools, l.Problems = reader.Tools, reader.Problems
	if l.Tools == nil {
		l.Tools = []discovery.ListedTool{}
	}
	return l, ttl, nil
}

// page fetches one page. It omits tools with an invalid x-mcp-header, as the protocol
// demands over HTTP: the SDK would refuse a call of them.
func (s *session) page(ctx context.Context, cursor string, r *listing.Reader, shortest *time.Duration) (raw []json.RawMessage, next string, err error) {
	defer s.recovered("tools/list", &err)
	c := captureList()
	defer c.Release()
	res, err := s.mcp.ListTools(transport.WithCapture(ctx, c), &mcp.ListToolsParams{Cursor: cursor})
	if err != nil {
		return nil, "", answerError(c, err)
	}
	if c.Raw == nil {
		return nil, "", errors.New("the server answered without a result")
	}
	if ttl := listing.TTL(c.Raw); ttl > 0 && (*shortest == 0 || ttl < *shortest) {
		*shortest = ttl
	}
	raw, next, err = listing.Split(c.Raw)
	if err != nil || s.transport == "stdio" {
		return raw, next, err
	}
	kept := raw[:0]
	for _, tool := range raw {
		if name, bad := droppedBySDK(tool, res.Tools); bad {
			r.Problem("tool %q was left out: its x-mcp-header is invalid", name)
			continue
		}
		kept = append(kept, tool)
	}
	return kept, next, nil
}

// droppedBySDK reports whether the SDK was shown tool and refused it.
func droppedBySDK(tool json.RawMessage, accepted []*mcp.Tool) (name string, dropped bool) {
	if !strings.Contains(string(tool), `"x-mcp-header"`) {
		return "", false
	}
	var t struct{ Name string }
	if json.Unmarshal(tool, &t) != nil {
		return "", false
	}
	for _, a := range accepted {
		if a.Name == t.Name {
			return "", false
		}
	}
	return t.Name, true
}

// announcesTools reports whether the server says when its tools change.
func (s *session) announcesTools() bool {
	init := s.mcp.InitializeResult()
	return init != nil && init.Capabilities != nil && init.Capabilities.Tools != nil && init.Capabilities.Tools.ListChanged
}

// ended reports whether the connection is gone.
func (s *session) ended() bool { return closed(s.gone) }

// shut ends the connection and, for stdio, the process with its tree. It returns
// when nothing is left, and may be called more than once.
func (s *session) shut() {
	if s.proc != nil {
		s.proc.Stop() // the connection ends with the pipes
	}
	if s.hangUp != nil {
		s.hangUp()
	}
	_ = s.mcp.Close() // nothing to do about a connection that does not close well
	if s.cleanup != nil {
		s.cleanup()
	}
}
