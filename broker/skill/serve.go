package skill

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/skills"
)

// Skills over MCP: the extension io.modelcontextprotocol/skills (SEP-2640).
// Its methods are served only while there is a skill to serve.
const (
	methodListSkills    = "skills/list"
	methodGetSkill      = "skills/get"
	methodReadDirectory = "resources/directory/read"

	// skillTemplate is the template of all files of all skills.
	skillTemplate = "skill://{+path}"
	// directoryType is the type of a resource that is a folder.
	directoryType = "inode/directory"

	// skillsPage is how many skills are listed at once: each may have hundreds
	// of files.
	skillsPage = 50
	// skillsTTL is for how long what is said of skills may be taken as it was.
	// Changes of the files themselves are not announced.
	skillsTTL = 5 * time.Second
)

// A publisher serves the skills of a Feature to other hosts.
type publisher struct{ f *Feature }

// A served skill is one that others may read, at a path of its own.
type served struct {
	*skills.Skill
	at string
	// key is in the order of the list: at, but of the one that is the last.
	key string
}

// served are the skills that clients may read, by their path: those that models
// may know of and that are what the standard says. The one about the broker
// itself is beside others only, and the last, unless they have one of its name.
func (sv publisher) served() []served {
	var list []served
	for _, k := range sv.f.now().Published() {
		list = append(list, served{k, k.At(), k.At()})
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b served) int { return cmp.Compare(a.key, b.key) })
	if k := sv.aboutBroker(); k != nil && !slices.ContainsFunc(list, func(s served) bool { return s.Name == k.Name }) {
		list = append(list, served{k, "broker/" + k.Name, string(utf8.MaxRune)})
	}
	return list
}

// aboutBroker is the text of the prompt use-broker as a skill.
func (sv publisher) aboutBroker() *skills.Skill {
	k, err := skills.Virtual{
		Name:        promptBroker,
		Description: aboutBrokerDescription,
		Body:        surface.PromptFor(sv.f.opts.Load().Mode),
	}.Skill()
	if err != nil {
		sv.f.log.Error("make skill", "skill", promptBroker, "err", err)
		return nil
	}
	return k
}

// findServed returns the skill that a URI leads to, and the path in it.
func findServed(list []served, uri string) (s served, path string, ok bool) {
	whole, ok := skills.PathOf(uri)
	if !ok {
		return served{}, "", false
	}
	for _, s := range list {
		if rest, ok := strings.CutPrefix(whole+"/", s.at+"/"); ok {
			return s, strings.TrimSuffix(rest, "/"), true
		}
	}
	return served{}, "", false
}

type skillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// entry returns the entry that lists the skill with its current files.
func (s served) entry() (*skills.Entry, error) {
	m, err := s.Manifest(s.at)
	if err != nil {
		return nil, err
	}
	e := &skills.Entry{URI: m.URI, Frontmatter: m.Frontmatter, Resources: json.RawMessage(`"dynamic"`)}
	if !m.Dynamic {
		files := []skillFile{}
		for _, r := range m.Resources {
			files = append(files, skillFile{r.URI, r.Digest, r.Size})
		}
		e.Resources = gate.Compact(files)
	}
	return e, nil
}

// cacheable is what protocol 2026-07-28 wants in results that may be kept; older
// ones do not know it.
type cacheable struct {
	TTLMs      *int64 `json:"ttlMs,omitempty"`
	CacheScope string `json:"cacheScope,omitempty"`
}

func cacheableFor(ss *mcp.ServerSession, meta mcp.Meta) cacheable {
	version, _ := meta[mcp.MetaKeyProtocolVersion].(string)
	if version == "" && ss != nil {
		if p := ss.InitializeParams(); p != nil {
			version = p.ProtocolVersion
		}
	}
	if version < surface.StatelessSince {
		return cacheable{}
	}
	ms := skillsTTL.Milliseconds()
	return cacheable{&ms, "private"} // they are files of this user
}

const resultComplete = "complete"

type listSkillsParams struct {
	mcp.ParamsBase
	Cursor string `json:"cursor,omitempty"`
}

type listSkillsResult struct {
	mcp.ResultBase
	cacheable
	ResultType string          `json:"resultType"`
	Skills     []*skills.Entry `json:"skills"`
	NextCursor string          `json:"nextCursor,omitempty"`
}

type getSkillParams struct {
	mcp.ParamsBase
	URI string `json:"uri"`
}

type getSkillResult struct {
	mcp.ResultBase
	cacheable
	ResultType string        `json:"resultType"`
	Skill      *skills.Entry `json:"skill"`
}

type readDirectoryParams struct {
	mcp.ParamsBase
	URI    string `json:"uri"`
	Cursor string `json:"cursor,omitempty"`
}

type readDirectoryResult struct {
	mcp.ResultBase
	ResultType string          `json:"resultType"`
	Resources  []*mcp.Resource `json:"resources"`
}

// Extend implements surface.Extension: it makes s serve the skills of the broker.
// What there is to serve is looked up for each request.
func (sv publisher) Extend(s *mcp.Server) error {
	if sv.f.opts.Load().Registry == nil {
		return nil
	}
	s.AddReceivingMiddleware(sv.declareInAnswers)
	return errors.Join(
		mcp.AddReceivingCustomMethod(s, methodListSkills, sv.listSkills),
		mcp.AddReceivingCustomMethod(s, methodGetSkill, sv.getSkill),
		mcp.AddReceivingCustomMethod(s, methodReadDirectory, sv.readDirectory),
	)
}

// declareInAnswers declares the extension while there is a skill.
func (sv publisher) declareInAnswers(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if err != nil {
			return nil, err // res may be a typed nil pointer
		}
		switch r := res.(type) {
		case *mcp.InitializeResult:
			sv.declareSkills(r.Capabilities)
		case *mcp.DiscoverResult:
			sv.declareSkills(r.Capabilities)
		}
		return res, nil
	}
}

func (sv publisher) declareSkills(can *mcp.ServerCapabilities) {
	sv.f.Refresh()
	if can != nil && len(sv.served()) > 0 {
		can.AddExtension(upstream.SkillsExtension, map[string]any{"directoryRead": true})
	}
}

// Resources implements surface.ResourceFeature: the text of each skill.
func (sv publisher) Resources(surface.Caller) []*mcp.Resource {
	var list []*mcp.Resource
	for _, s := range sv.served() {
		nodes, err := s.Children("")
		if err != nil {
			continue
		}
		// The file may be gone since the skill was found.
		if i := slices.IndexFunc(nodes, func(n skills.Node) bool { return n.Path == skills.FileName }); i >= 0 {
			list = append(list, s.resource(nodes[i]))
		}
	}
	return list
}

// resource describes a file or a folder of the skill.
func (s served) resource(n skills.Node) *mcp.Resource {
	r := &mcp.Resource{URI: skills.URI(s.at, n.Path), Name: n.Path[strings.LastIndex(n.Path, "/")+1:], MIMEType: n.MIMEType, Size: n.Size}
	switch {
	case n.Dir:
		r.MIMEType = directoryType
	case n.Path == skills.FileName:
		r.Name, r.Description = s.Name, gate.Cut(s.Description, surface.MaxDescription)
	}
	return r
}

// toServe are the skills as they are now; without any the method does not exist.
func (sv publisher) toServe(method string) ([]served, error) {
	sv.f.Refresh()
	list := sv.served()
	if len(list) == 0 {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("%s: there are no skills here", method)}
	}
	return list, nil
}

func invalidParams(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

func (sv publisher) listSkills(_ context.Context, ss *mcp.ServerSession, p *listSkillsParams) (*listSkillsResult, error) {
	if p == nil {
		p = &listSkillsParams{}
	}
	list, err := sv.toServe(methodListSkills)
	if err != nil {
		return nil, err
	}
	if p.Cursor != "" {
		after, err := base64.RawURLEncoding.DecodeString(p.Cursor)
		i := slices.IndexFunc(list, func(s served) bool { return s.key >= string(after) })
		if err != nil || i < 0 {
			return nil, invalidParams("%s: unknown cursor: list from the beginning", methodListSkills)
		}
		list = list[i:]
	}
	res := &listSkillsResult{cacheable: cacheableFor(ss, p.Meta), ResultType: resultComplete, Skills: []*skills.Entry{}}
	for i, s := range list {
		if i == skillsPage {
			res.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(s.key))
			break
		}
		e, err := s.entry()
		if err != nil {
			sv.f.log.Warn("skill not served", "skill", s.Ref, "err", err)
			continue
		}
		res.Skills = append(res.Skills, e)
	}
	return res, nil
}

func (sv publisher) getSkill(_ context.Context, ss *mcp.ServerSession, p *getSkillParams) (*getSkillResult, error) {
	list, err := sv.toServe(methodGetSkill)
	if err != nil {
		return nil, err
	}
	if p == nil || p.URI == "" {
		return nil, invalidParams(`%s needs "uri", that of a SKILL.md`, methodGetSkill)
	}
	s, path, ok := findServed(list, p.URI)
	if !ok || path != skills.FileName {
		return nil, invalidParams("no skill is served at %s", gate.Cut(p.URI, 200))
	}
	e, err := s.entry()
	if err != nil {
		return nil, invalidParams("the skill at %s is not served: %s", gate.Cut(p.URI, 200), err)
	}
	return &getSkillResult{cacheable: cacheableFor(ss, p.Meta), ResultType: resultComplete, Skill: e}, nil
}

// readDirectory lists a folder of a skill, or one above skills.
func (sv publisher) readDirectory(_ context.Context, _ *mcp.ServerSession, p *readDirectoryParams) (*readDirectoryResult, error) {
	list, err := sv.toServe(methodReadDirectory)
	if err != nil {
		return nil, err
	}
	if p == nil || p.URI == "" || p.Cursor != "" {
		return nil, invalidParams(`%s needs "uri", that of a folder; its answers are one page`, methodReadDirectory)
	}
	res := &readDirectoryResult{ResultType: resultComplete}
	if s, path, ok := findServed(list, p.URI); ok {
		nodes, err := s.Children(path)
		if err != nil {
			return nil, invalidParams("%s is no folder", gate.Cut(p.URI, 200))
		}
		for _, n := range nodes {
			res.Resources = append(res.Resources, s.resource(n))
		}
		return res, nil
	}
	if path, ok := skills.PathOf(p.URI); ok {
		res.Resources = above(list, path)
	}
	if len(res.Resources) == 0 {
		return nil, invalidParams("%s is no folder", gate.Cut(p.URI, 200))
	}
	return res, nil
}

// above lists the folders in one that has skills in it, or below.
func above(list []served, path string) []*mcp.Resource {
	var found []*mcp.Resource
	for _, s := range list {
		rest, ok := strings.CutPrefix(s.at, path+"/")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, "/")
		uri := skills.URI(path, name)
		if !slices.ContainsFunc(found, func(r *mcp.Resource) bool { return r.URI == uri }) {
			found = append(found, &mcp.Resource{URI: uri, Name: name, MIMEType: directoryType})
		}
	}
	return found
}

// Templates implements surface.ResourceFeature. The SDK announces that skills have
// changed only where what is registered has, so the template has their version.
func (sv publisher) Templates() []surface.Template {
	if len(sv.served()) == 0 {
		return nil
	}
	return []surface.Template{{Read: sv.readServed, Version: sv.f.now(), ResourceTemplate: &mcp.ResourceTemplate{
		Name: "skills", Title: "Files of skills", URITemplate: skillTemplate, Description: "Every file of the skills that are served.",
	}}}
}

// readServed reads a file of a skill for a client, as it is: digests are those of
// its bytes.
func (sv publisher) readServed(_ context.Context, c surface.Caller, uri string) (*mcp.ReadResourceResult, error) {
	sv.f.Refresh()
	s, path, ok := findServed(sv.served(), uri)
	if !ok {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	data, mime, err := s.Bytes(path)
	sv.f.noteRead(s.Skill, c.Client, path, len(data), err)
	if err != nil {
		return nil, invalidParams("%s is not served: %s", gate.Cut(uri, 200), err)
	}
	res := surface.BinaryResource(uri, mime, data)
	if text := string(data); skills.IsText(data) && !gate.Hides(text) { // cleaned, it would have another digest
		res = surface.TextResource(uri, mime, gate.NewText(text))
	}
	res.Cacheable = mcp.Cacheable{TTLMs: int(skillsTTL.Milliseconds()), CacheScope: "private"}
	return res, nil
}
