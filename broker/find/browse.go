package find

import (
	"context"
	"fmt"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A BrowsedServer is one row of what there is to browse.
type BrowsedServer struct {
	Name      string `json:"name"`
	ToolCount int    `json:"tool_count"`
}

// browse answers a search without words: with a server, its tools page by
// page; without one, the servers and the first tools of each.
func (s *search) browse(ctx context.Context) {
	if s.renderer.detail == "" {
		s.renderer.detail = DetailName
	}
	limit := s.req.Limit
	switch {
	case limit > 0:
	case s.renderer.detail == DetailName:
		limit = maxHits
	default:
		limit = defaultHits
	}
	s.answer.Unsearched = s.unsearched(true)
	if s.server == "" {
		s.browseAll(ctx, limit)
		return
	}
	server, _ := s.scope.Server(s.server)
	tools := server.Tools
	s.answer.MatchCount = len(tools)
	tools = tools[min(s.req.Offset, len(tools)):]
	page := tools[:min(limit, len(tools))]
	s.showTools(ctx, page)
	shown := s.req.Offset + len(page)
	switch {
	case s.answer.MatchCount == 0 && len(s.answer.Unsearched) > 0:
		s.note("the tools of %s are not known yet", s.server)
	case s.answer.MatchCount == 0:
		s.note("%s has no tools%s", s.server, s.f.inThisMode())
	case len(page) == 0:
		s.note("%s has only %d tools", s.server, s.answer.MatchCount)
	case len(page) < len(tools):
		s.note(`%d of %d tools; {"query": "", "server": %s, "offset": %d} shows more, words find one`,
			shown, s.answer.MatchCount, gate.Compact(s.server), shown)
	}
}

// browseAll lists the servers, and of each as many tools as there is room for.
// Offset counts servers here.
func (s *search) browseAll(ctx context.Context, limit int) {
	all := s.scope.Servers()
	servers := all[min(s.req.Offset, len(all)):]
	servers = servers[:min(maxHits, len(servers))]
	s.answer.MatchCount = len(s.scope.Tools())
	var listed []*discovery.Server
	for _, server := range servers {
		s.answer.Servers = append(s.answer.Servers, BrowsedServer{server.Listing.Server, len(server.Tools)})
		if len(server.Tools) > 0 {
			listed = append(listed, server)
		}
	}
	each := limit
	if len(listed) > 0 {
		each = max(1, limit/len(listed))
	}
	var first []*discovery.Tool
	for _, server := range listed {
		n := min(each, len(server.Tools), limit-len(first))
		first = append(first, server.Tools[:n]...)
	}
	s.showTools(ctx, first)
	switch next := s.req.Offset + len(servers); {
	case len(all) == 0:
		s.note("no servers are configured")
	case len(servers) == 0:
		s.note("there are only %d servers", len(all))
	case next < len(all):
		s.note(`servers %d to %d of %d; {"query": "", "offset": %d} shows more`, s.req.Offset+1, next, len(all), next)
	case len(s.scope.Tools()) == 0:
		s.note("no tools are known yet%s; list_servers says how the servers are", s.f.inThisMode())
	}
	if len(listed) > 0 {
		s.note(`%s lists one server's tools; words find the tool that you need`,
			fmt.Sprintf(`{"query": "", "server": %s}`, gate.Compact(listed[0].Listing.Server)))
	}
}

func (s *search) showTools(ctx context.Context, tools []*discovery.Tool) {
	results := make([]result, len(tools))
	for i, t := range tools {
		results[i].tool = t
	}
	s.show(ctx, results)
}

// inThisMode returns another possible reason for missing tools.
func (f *Finder) inThisMode() string {
	if f.opts.Load().ReadOnly {
		return " that are marked read-only, and this broker runs read-only"
	}
	return ""
}
