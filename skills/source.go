package skills

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// An Entry is a skill as an MCP server lists it (SEP-2640): the URI of its
// SKILL.md, its header as JSON, and its files, each with URI, digest and size,
// or "dynamic". It is what the server says; nothing of it has been checked.
type Entry struct {
	URI         string          `json:"uri"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	Resources   json.RawMessage `json:"resources"`
}

// A Source is an MCP server that has skills. They are in use under its label,
// and every file that is read of them has to be what their entry says.
type Source struct {
	// Label is what the user calls the server.
	Label string
	// Entries are what it lists, and Problems what is wrong with the list.
	Entries  []Entry
	Problems []string
	// Read reads a resource of the server, and Get the entry of one skill. They
	// must be safe for concurrent use.
	Read func(ctx context.Context, uri string) ([]byte, error)
	Get  func(ctx context.Context, uri string) (Entry, error)
	// Cache keeps what was read; nil keeps nothing.
	Cache *Cache
}

const (
	maxFrontmatterBytes = 64 << 10
	maxURIBytes         = 2 << 10
)

// A remote is where a skill of a server comes from. It is not changed.
type remote struct {
	source *Source
	entry  Entry
	files  map[string]Resource // by path
	list   []File
}

var digestForm = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)

// skill reads an entry. An error says what is wrong with it.
func (s *Source) skill(e Entry) (*Skill, error) {
	root, name, err := splitURI(e.URI)
	if err != nil {
		return nil, err
	}
	doc, err := readFrontmatter(e.Frontmatter)
	if err != nil {
		return nil, err
	}
	if doc.Name != norm.NFKC.String(name) {
		return nil, fmt.Errorf("it is called %s, but its address ends in %s: they have to be the same", quoted(doc.Name), quoted(name))
	}
	r := &remote{source: s, entry: e}
	if err := r.readResources(root); err != nil {
		return nil, err
	}
	k := &Skill{Scope: ScopeServer, Server: s.Label, remote: r, folder: name}
	k.fill(doc)
	k.AllowedTools = nil // what a server asks for is not granted
	_, k.Diagnostics = doc.Judge(Lenient)
	return k, nil
}

// splitURI takes the URI of a SKILL.md apart: the skill's folder, and its name.
func splitURI(uri string) (root, name string, err error) {
	if len(uri) > maxURIBytes || gate.Clean(uri) != uri || strings.ContainsAny(uri, "?# \n\t") {
		return "", "", fmt.Errorf("its address %s is too long, or has characters that have no place in one", quoted(uri))
	}
	root, ok := strings.CutSuffix(uri, "/"+FileName)
	_, rest, scheme := strings.Cut(root, "://")
	if ok && scheme && rest != "" {
		if name, err = url.PathUnescape(rest[strings.LastIndex(rest, "/")+1:]); err == nil && name != "" {
			return root, name, nil
		}
	}
	return "", "", fmt.Errorf("its address %s is not that of a SKILL.md, such as skill://name/SKILL.md", quoted(uri))
}

// readFrontmatter judges a header that came as JSON by the rules for files: its
// name and description strictly, the rest like a catalogue does.
func readFrontmatter(raw json.RawMessage) (*Doc, error) {
	var fields map[string]json.RawMessage
	if len(raw) > maxFrontmatterBytes || json.Unmarshal(raw, &fields) != nil || fields == nil {
		return nil, fmt.Errorf("its header is not an object of at most %d KiB", maxFrontmatterBytes>>10)
	}
	var b bytes.Buffer
	b.WriteString("---\n")
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		value, err := decodeNumbers(fields[key])
		if err != nil {
			return nil, fmt.Errorf("its header is invalid JSON: %w", err)
		}
		marshalTo(&b, key)
		b.WriteString(": ")
		marshalTo(&b, value)
		b.WriteByte('\n')
	}
	b.WriteString("---\n")
	doc := Parse(b.Bytes())
	if ok, list := doc.Judge(Lenient); !ok {
		return nil, fmt.Errorf("%s", firstError(list))
	}
	_, list := doc.Judge(Strict)
	for _, d := range list {
		if d.Severity == Error && (d.Field == "name" || d.Field == "description") {
			return nil, fmt.Errorf("%s", d.Message)
		}
	}
	return doc, nil
}

func decodeNumbers(raw json.RawMessage) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// readResources takes over the files of the entry, all of them or none.
func (r *remote) readResources(root string) error {
	if string(bytes.TrimSpace(r.entry.Resources)) == `"dynamic"` {
		return fmt.Errorf("its files change by themselves, so that nothing says what they should be: such skills are not used")
	}
	var listed []struct {
		URI    string `json:"uri"`
		Digest string `json:"digest"`
		Size   *int64 `json:"size"`
	}
	if err := json.Unmarshal(r.entry.Resources, &listed); err != nil || len(listed) == 0 {
		return fmt.Errorf("it does not list its files")
	}
	if len(listed) > MaxFiles {
		return fmt.Errorf("it has %d files: at most %d are allowed", len(listed), MaxFiles)
	}
	var total int64
	r.files = make(map[string]Resource, len(listed))
	for _, f := range listed {
		escaped, ok := strings.CutPrefix(f.URI, root+"/")
		name, valid := unescapePath(escaped)
		switch {
		case !ok || !valid || gate.Clean(name) != name || len(f.URI) > maxURIBytes || strings.ContainsFunc(name, unicode.IsControl):
			return fmt.Errorf("it lists %s, which is not a file in its folder", quoted(f.URI))
		case !digestForm.MatchString(f.Digest) || f.Size == nil || *f.Size < 0:
			return fmt.Errorf("it lists %s without its digest and size", quoted(name))
		case r.files[name] != Resource{}:
			return fmt.Errorf("it lists %s twice", quoted(name))
		case *f.Size > MaxTotalBytes-total:
			return fmt.Errorf("it has more than %d MiB", MaxTotalBytes>>20)
		}
		total += *f.Size
		r.files[name] = Resource{Path: name, URI: f.URI, Size: *f.Size, Digest: f.Digest}
		r.list = append(r.list, File{name, *f.Size})
	}
	if r.files[FileName].URI != r.entry.URI {
		return fmt.Errorf("it does not list its own SKILL.md")
	}
	for name := range r.files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if r.files[dir] != (Resource{}) {
				return fmt.Errorf("it lists %s as a file and as a folder", quoted(dir))
			}
		}
	}
	slices.SortFunc(r.list, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// sameJSON reports whether two values are the same, keys in any order.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// sources adds the skills that servers list. Of one server, skills with one name
// are distinguished by their addresses.
func (w *walker) sources(list []Source) {
	for i := range list {
		s := &list[i]
		for _, p := range s.Problems {
			w.problem("server "+s.Label, "invalid_list", "%s", p)
		}
		names := map[string]int{}
		seen := map[string]bool{}
		var found []*Skill
		for _, e := range s.Entries {
			if seen[e.URI] {
				continue
			}
			seen[e.URI] = true
			k, err := s.skill(e)
			if err != nil {
				w.problem("server "+s.Label, "invalid_entry", "a skill of this server is left out: %s", err)
				continue
			}
			names[k.Name]++
			found = append(found, k)
		}
		for _, k := range found {
			k.Ref = s.Label + ":" + k.Name
			if names[k.Name] > 1 {
				_, at, _ := strings.Cut(strings.TrimSuffix(k.remote.entry.URI, "/"+FileName), "://")
				k.Ref = s.Label + ":" + at
			}
		}
		w.skills = append(w.skills, found...)
	}
}
