package fakeupstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Skills are the skills of an MCP server (SEP-2640), and its misbehaviour. It is safe for
// concurrent use, also by several servers; the zero value has no skills.
type Skills struct {
	mu     sync.Mutex
	skills []*servedSkill
	files  map[string]string // by URI
	asked  []string
	page   int
	edit   func(entry map[string]any)
	wait   <-chan struct{}
}

type servedSkill struct {
	uri         string
	frontmatter map[string]any
	files       []string // URIs
	listed      map[string]string
	hidden      bool
}

// Add serves a skill at root, such as "skill://acme/refunds", with its SKILL.md
// and files by path.
func (s *Skills) Add(root, description string, files map[string]string) {
	name := root[strings.LastIndex(root, "/")+1:]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = make(map[string]string)
	}
	k := &servedSkill{uri: root + "/SKILL.md", frontmatter: map[string]any{"name": name, "description": description}, listed: make(map[string]string)}
	add := func(path, text string) {
		uri := root + "/" + path
		k.files = append(k.files, uri)
		s.files[uri], k.listed[uri] = text, text
	}
	add("SKILL.md", "---\nname: "+name+"\ndescription: "+description+"\n---\n\n# "+name+"\n")
	for path, text := range files {
		add(path, text)
	}
	slices.Sort(k.files)
	s.skills = slices.DeleteFunc(s.skills, func(o *servedSkill) bool { return o.uri == k.uri })
	s.skills = append(s.skills, k)
}

// Hide removes a skill from the list; it is still available by its URI.
func (s *Skills) Hide(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.skills {
		k.hidden = k.hidden || k.uri == uri
	}
}

// Lie makes reads of a URI return another text than the listed one.
func (s *Skills) Lie(uri, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[uri] = text
}

// Edit sets a function that changes entries before they are sent.
func (s *Skills) Edit(f func(entry map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edit = f
}

// Paged sets the number of skills per page; with a negative number, the next page of the first
// page is the first page.
func (s *Skills) Paged(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.page = n
}

// Wait makes lists and reads wait until c is closed.
func (s *Skills) Wait(c <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wait = c
}

// Asked returns and clears the requests, as "method URI".
func (s *Skills) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

type skillParams struct {
	mcp.ParamsBase
	URI    string `json:"uri,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

type skillResult struct {
	mcp.ResultBase
	ResultType string           `json:"resultType"`
	Skills     []map[string]any `json:"skills,omitempty"`
	Skill      map[string]any   `json:"skill,omitempty"`
	NextCursor string           `json:"nextCursor,omitempty"`
	TTLMs      int              `json:"ttlMs"`
	CacheScope string           `json:"cacheScope"`
}

// Server returns a server with one tool and these skills; silent makes it not declare the
// capability.
func (s *Skills) Server(silent bool) *mcp.Server {
	can := &mcp.ServerCapabilities{Resources: &mcp.ResourceCapabilities{ListChanged: true}}
	if !silent {
		can.AddExtension("io.modelcontextprotocol/skills", map[string]any{})
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "skills", Version: "1"}, &mcp.ServerOptions{Capabilities: can})
	mcp.AddTool(srv, &mcp.Tool{Name: "ping", Description: "Answers."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return text("pong"), nil, nil
	})
	srv.AddResourceTemplate(&mcp.ResourceTemplate{Name: "files", URITemplate: "skill://{+path}"}, s.read)
	for method, h := range map[string]func(context.Context, *mcp.ServerSession, *skillParams) (*skillResult, error){"skills/list": s.list, "skills/get": s.get} {
		if err := mcp.AddReceivingCustomMethod(srv, method, h); err != nil {
			panic(err) // the names differ from the protocol's own methods
		}
	}
	return srv
}

// Changed notifies the clients of a server that its skills have changed.
func (s *Skills) Changed(srv *mcp.Server) {
	srv.AddResourceTemplate(&mcp.ResourceTemplate{Name: "files", URITemplate: "skill://{+path}"}, s.read)
}

func (s *Skills) heard(ctx context.Context, method, uri string) error {
	s.mu.Lock()
	s.asked = append(s.asked, strings.TrimSpace(method+" "+uri))
	wait := s.wait
	s.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (s *Skills) list(ctx context.Context, _ *mcp.ServerSession, p *skillParams) (*skillResult, error) {
	if err := s.heard(ctx, "skills/list", ""); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &skillResult{ResultType: "complete", Skills: []map[string]any{}, CacheScope: "public"}
	from := 0
	if p != nil && p.Cursor != "" {
		_, _ = fmt.Sscan(p.Cursor, &from) // zero if it is invalid
	}
	for i, k := range s.skills {
		switch {
		case i < from || k.hidden:
		case s.page > 0 && len(r.Skills) == s.page:
			r.NextCursor = fmt.Sprint(i)
			return r, nil
		default:
			r.Skills = append(r.Skills, s.entry(k))
		}
	}
	if s.page < 0 {
		r.NextCursor = "again"
	}
	return r, nil
}

func (s *Skills) get(ctx context.Context, _ *mcp.ServerSession, p *skillParams) (*skillResult, error) {
	if err := s.heard(ctx, "skills/get", p.URI); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.skills {
		if k.uri == p.URI {
			return &skillResult{ResultType: "complete", Skill: s.entry(k), CacheScope: "public"}, nil
		}
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no skill is served at " + p.URI}
}

func (s *Skills) entry(k *servedSkill) map[string]any {
	files := []any{}
	for _, uri := range k.files {
		sum := sha256.Sum256([]byte(k.listed[uri]))
		files = append(files, map[string]any{"uri": uri, "digest": "sha256:" + hex.EncodeToString(sum[:]), "size": len(k.listed[uri])})
	}
	e := map[string]any{"uri": k.uri, "frontmatter": k.frontmatter, "resources": files}
	if s.edit != nil {
		s.edit(e)
	}
	return e
}

func (s *Skills) read(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	if err := s.heard(ctx, "resources/read", req.Params.URI); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.files[req.Params.URI]
	if !ok {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	c := &mcp.ResourceContents{URI: req.Params.URI, Text: data}
	if strings.Contains(data, "\x00") {
		c.Text, c.Blob = "", []byte(data)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
}
