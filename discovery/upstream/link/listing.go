package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/listing"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxInstructions is how many characters of a server's instructions are stored. It is
// more than a scan reads, so a scan notices that there is more.
const maxInstructions = 64<<10 + 1

// List fetches all pages of tools/list. ttl is for how long they are good; zero
// if the server does not say.
func (s *Session) List(ctx context.Context, server string) (l discovery.Listing, ttl time.Duration, err error) {
	defer s.panics.recovered(methodListTools, &err)
	l = discovery.Listing{Server: server, Transport: s.Transport}
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

// Probe asks for the first page of tools, and returns only the error.
func (s *Session) Probe(ctx context.Context) (err error) {
	var reader listing.Reader
	var ttl time.Duration
	_, _, err = s.page(ctx, "", &reader, &ttl)
	return err
}

// page fetches one page. It omits tools with an invalid x-mcp-header, as the protocol
// demands over HTTP: the SDK would refuse a call of them.
func (s *Session) page(ctx context.Context, cursor string, r *listing.Reader, shortest *time.Duration) (raw []json.RawMessage, next string, err error) {
	defer s.panics.recovered(methodListTools, &err)
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
	if err != nil || s.Transport == "stdio" {
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
