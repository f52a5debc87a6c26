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
}

// A Resource is one file of a Manifest. Size and digest are those of the bytes
// as they are.
type Resource struct {
	Path   string `json:"path"`
	URI    string `json:"uri"`
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
}

// Manifest reads every file of the skill. at is the path of the skill in its
// URIs, with slashes. A skill with more than MaxFiles files or MaxTotalBytes
// bytes is an error.
func (s *Skill) Manifest(at string) (*Manifest, error) {
	doc, err := s.Doc()
	if err != nil {
		return nil, err
	}
	m := &Manifest{URI: skillURI(at, FileName), Frontmatter: doc.Frontmatter()}
	files, done, err := s.files()
	if err != nil {
		return nil, err
	}
	defer done()
	list, complete := walk(files)
	if !complete {
		return nil, s.tooMany()
	}
	var total int64
	for _, f := range list {
		sum, n, err := digest(files, f.Path, MaxTotalBytes-total)
		if err != nil {
			return nil, s.fileError(files, f.Path, err)
		}
		if total += n; total > MaxTotalBytes {
			return nil, s.tooLarge()
		}
		m.Resources = append(m.Resources, Resource{f.Path, skillURI(at, f.Path), n, sum})
	}
	return m, nil
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
// bytes as they are now, or "" if it cannot be read.
func (s *Skill) Digest() string {
	files, done, err := s.files()
	if err != nil {
		return ""
	}
	defer done()
	for _, name := range []string{FileName, lowerFileName} {
		if sum, n, err := digest(files, name, MaxFileBytes); err == nil && n <= MaxFileBytes {
			return sum
		}
	}
	return ""
}

// Digest writes a SHA-256 sum the way skills are identified.
func Digest(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// skillURI escapes each segment of a path.
func skillURI(at, file string) string {
	var b strings.Builder
	b.WriteString("skill://")
	for i, segment := range strings.Split(at+"/"+file, "/") {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(url.PathEscape(segment))
	}
	return b.String()
}

// Frontmatter is the header as JSON with the types that YAML gives its values;
// null if there is none. Keys keep their order.
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
