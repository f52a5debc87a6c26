package skills

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Manifest is a skill with all its files as resources, the way skills are
// listed over MCP.
type Manifest struct {
	URI         string          `json:"uri"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	Resources   []Resource      `json:"resources"`
	// Dynamic means that the files change by themselves, so that they have no digests:
	// Resources is empty.
	Dynamic bool `json:"-"`
}

// A Resource is one file of a Manifest. Size and digest are those of the bytes
// as they are.
type Resource struct {
	Path   string `json:"path"`
	URI    string `json:"uri"`
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
}

// Manifest reads every file of the skill, but for those that have not changed
// since it was called before. at is the path of the skill in its URIs, with slashes. A
// skill with more than MaxFiles files or MaxTotalBytes bytes is an error.
func (s *Skill) Manifest(at string) (*Manifest, error) {
	doc, err := s.Doc()
	if err != nil {
		return nil, err
	}
	m := &Manifest{URI: URI(at, s.File()), Frontmatter: doc.Frontmatter()}
	files, list, done, err := s.openAll()
	if err != nil {
		return nil, err
	}
	defer done()
	if m.Dynamic = s.virtual != nil && s.virtual.Changing; m.Dynamic {
		return m, nil
	}
	var total int64
	for _, f := range list {
		sum, n, err := s.sums.digest(s.dir, files, f.Path, MaxTotalBytes-total)
		if err != nil {
			return nil, s.fileError(files, f.Path, err)
		}
		if total += n; total > MaxTotalBytes {
			return nil, s.tooLarge()
		}
		m.Resources = append(m.Resources, Resource{f.Path, URI(at, f.Path), n, sum})
	}
	return m, nil
}

// openAll is Open with a list of all files, if they are within the limits of a skill
// that is served as a whole.
func (s *Skill) openAll() (files fs.FS, list []File, done func(), err error) {
	files, done, err = s.Open()
	if err != nil {
		return nil, nil, nil, err
	}
	list, complete := walk(files)
	var total int64
	for _, f := range list {
		total += f.Size
	}
	switch {
	case !complete:
		err = s.tooMany()
	case total > MaxTotalBytes:
		err = s.tooLarge()
	default:
		return files, list, done, nil
	}
	done()
	return nil, nil, nil, err
}

// digest is the SHA-256 of a file, of which it reads one byte more than limit
// at most.
func digest(files fs.FS, name string, limit int64) (sum string, n int64, err error) {
	f, err := files.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err = io.Copy(h, io.LimitReader(f, limit+1))
	return Digest(h.Sum(nil)), n, err
}

// Digest tells one version of the skill's SKILL.md from another: that of its
// bytes as they are now, or "" if it cannot be read. Of a server's skill it is
// what is listed.
func (s *Skill) Digest() string {
	if s.remote != nil {
		return s.remote.files[FileName].Digest
	}
	files, done, err := s.Open()
	if err != nil {
		return ""
	}
	defer done()
	sum, n, err := digest(files, s.File(), MaxFileBytes)
	if err != nil || n > MaxFileBytes {
		return ""
	}
	return sum
}

// Digest writes a SHA-256 sum the way skills are identified.
func Digest(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// scheme is what the URIs of skills begin with.
const scheme = "skill://"

// URI is the URI of a file of the skill that is served at a path, or of a
// folder; an empty file means the skill's own folder.
func URI(at, file string) string {
	segments := strings.Split(strings.TrimSuffix(at+"/"+file, "/"), "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return scheme + strings.Join(segments, "/")
}

// PathOf is the path in a URI of a skill or its files, with nothing escaped; ok
// is false if it is not such a URI.
func PathOf(uri string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(uri, scheme)
	if !ok {
		return "", false
	}
	return unescapePath(rest)
}

// unescapePath takes the escapes out of the segments of a path. What has no
// place in one is not ok: a query, empty segments, "..", an escaped slash.
func unescapePath(escaped string) (path string, ok bool) {
	if strings.ContainsAny(escaped, "?#") {
		return "", false
	}
	segments := strings.Split(escaped, "/")
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil || strings.ContainsAny(plain, `/\`) {
			return "", false
		}
		segments[i] = plain
	}
	path = strings.Join(segments, "/")
	return path, fs.ValidPath(path) && path != "."
}

// Frontmatter returns the header as JSON with the types of its YAML values, or null.
// Keys keep their order.
func (d *Doc) Frontmatter() json.RawMessage {
	if d.header == nil {
		return json.RawMessage("null")
	}
	var b bytes.Buffer
	writeJSON(&b, d.header)
	return b.Bytes()
}

func writeJSON(b *bytes.Buffer, n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		last := map[string]int{} // of keys that stand twice the last one counts
		for i := 0; i+1 < len(n.Content); i += 2 {
			last[n.Content[i].Value] = i
		}
		sep := "{"
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key := n.Content[i].Value; last[key] == i {
				b.WriteString(sep)
				marshalTo(b, key)
				b.WriteByte(':')
				writeJSON(b, n.Content[i+1])
				sep = ","
			}
		}
		if sep == "{" {
			b.WriteByte('{')
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, c := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, c)
		}
		b.WriteByte(']')
	default:
		marshalTo(b, scalar(n))
	}
}

// scalar is a value with the type that YAML gives it, if JSON has that type.
func scalar(n *yaml.Node) any {
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err == nil {
			if _, err := json.Marshal(v); err == nil { // infinity has no JSON
				return v
			}
		}
	}
	return n.Value
}

func marshalTo(b *bytes.Buffer, v any) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)       // plain values always have a JSON form
	b.Truncate(b.Len() - 1) // the line break
}
