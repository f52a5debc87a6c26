// Package skills reads Agent Skills: folders whose SKILL.md says in a YAML
// header what the skill is for and in its body, in Markdown, how it is done
// (agentskills.io, specification of 2026-08).
//
// Whoever reads a skill has not written it. Everything is read through an
// os.Root, so no name and no link leads out of the folder that was opened;
// files are bounded; YAML is read as nodes, so nothing in it becomes a type, and
// anchors are refused, since they can grow without end.
package skills

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/unicode/norm"
)

// FileName is the file that makes a folder a skill.
const FileName = "SKILL.md"

const (
	maxFileBytes        = 1 << 20
	maxNameRunes        = 64
	maxDescriptionRunes = 1024
)

// A Skill is one SKILL.md that was found right.
type Skill struct {
	// Name is lower-case letters, digits and single hyphens, and the name of
	// the skill's folder.
	Name string
	// Description says what the skill does and when to use it.
	Description string
	// License and Compatibility are optional remarks.
	License, Compatibility string
	// Metadata holds what the author added, as text.
	Metadata map[string]string
	// Body is the Markdown below the header, with LF line ends.
	Body string
}

// Errors that Load wraps.
var (
	ErrNoHeader = errors.New("no header: the file has to begin with a line of three dashes, and the header to end with another")
	ErrField    = errors.New("wrong field")
)

// Load reads the skill in the folder dir of root. It judges as the standard
// does; an error says which field is wrong and why.
func Load(root *os.Root, dir string) (*Skill, error) {
	file := path.Join(dir, FileName)
	f, err := root.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read skill: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read skill: %w", err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("read skill: %s has more than %d bytes", file, maxFileBytes)
	}
	s, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if base := path.Base(path.Clean(dir)); base != "." && norm.NFKC.String(base) != s.Name {
		return nil, fmt.Errorf("%s: %w: name is %q, and its folder %q", file, ErrField, s.Name, base)
	}
	return s, nil
}

// Parse reads the text of a SKILL.md.
func Parse(data []byte) (*Skill, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("the text is not UTF-8")
	}
	header, body, err := split(strings.ReplaceAll(string(data), "\r\n", "\n"))
	if err != nil {
		return nil, err
	}
	fields, err := readHeader(header)
	if err != nil {
		return nil, err
	}
	s := &Skill{Body: body}
	if err := s.fill(fields); err != nil {
		return nil, err
	}
	return s, nil
}

// split takes the header between two lines of three dashes off the body.
func split(text string) (header, body string, err error) {
	first, rest, ok := strings.Cut(text, "\n")
	if !ok || strings.TrimRight(first, " \t") != "---" {
		return "", "", ErrNoHeader
	}
	for at := 0; at < len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		if strings.TrimRight(line, " \t") == "---" {
			end := min(at+len(line)+1, len(rest))
			return rest[:at], strings.TrimLeft(rest[end:], "\n"), nil
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	return "", "", ErrNoHeader
}

// readHeader reads a mapping of keys to nodes, without duplicates and anchors.
func readHeader(header string) (map[string]*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader([]byte(header))).Decode(&doc); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if err := plain(&doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%w: the header is not a list of key: value lines", ErrField)
	}
	fields := make(map[string]*yaml.Node)
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		key := pairs[i].Value
		if fields[key] != nil {
			return nil, fmt.Errorf("%w: %s is there twice", ErrField, key)
		}
		fields[key] = pairs[i+1]
	}
	return fields, nil
}

func plain(n *yaml.Node) error {
	if n.Anchor != "" || n.Kind == yaml.AliasNode {
		return fmt.Errorf("%w: line %d: anchors and aliases are not allowed", ErrField, n.Line)
	}
	for _, c := range n.Content {
		if err := plain(c); err != nil {
			return err
		}
	}
	return nil
}

func (s *Skill) fill(fields map[string]*yaml.Node) error {
	for _, f := range []struct {
		key string
		to  *string
	}{{"name", &s.Name}, {"description", &s.Description}, {"license", &s.License}, {"compatibility", &s.Compatibility}} {
		n := fields[f.key]
		if n == nil {
			continue
		}
		if n.Kind != yaml.ScalarNode {
			return fmt.Errorf("%w: line %d: %s is not text", ErrField, n.Line, f.key)
		}
		*f.to = strings.TrimSpace(n.Value)
	}
	s.Name = norm.NFKC.String(s.Name)
	if err := checkName(s.Name); err != nil {
		return err
	}
	switch n := utf8.RuneCountInString(s.Description); {
	case n == 0:
		return fmt.Errorf("%w: description is missing: it says what the skill does and when to use it", ErrField)
	case n > maxDescriptionRunes:
		return fmt.Errorf("%w: description has %d characters, at most %d are allowed", ErrField, n, maxDescriptionRunes)
	}
	return s.fillMetadata(fields["metadata"])
}

func (s *Skill) fillMetadata(n *yaml.Node) error {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%w: line %d: metadata is not a list of key: value lines", ErrField, n.Line)
	}
	s.Metadata = make(map[string]string)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if value.Kind != yaml.ScalarNode {
			return fmt.Errorf("%w: line %d: metadata %s is not text", ErrField, value.Line, key.Value)
		}
		s.Metadata[key.Value] = value.Value
	}
	return nil
}

func checkName(name string) error {
	if name == "" {
		return fmt.Errorf("%w: name is missing", ErrField)
	}
	if n := utf8.RuneCountInString(name); n > maxNameRunes {
		return fmt.Errorf("%w: name has %d characters, at most %d are allowed", ErrField, n, maxNameRunes)
	}
	for _, r := range name {
		if r != '-' && (!unicode.IsLetter(r) && !unicode.IsDigit(r) || unicode.ToLower(r) != r) {
			return fmt.Errorf("%w: name %q has %q: use lower-case letters, digits and hyphens", ErrField, name, r)
		}
	}
	if strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") || strings.Contains(name, "--") {
		return fmt.Errorf("%w: name %q: hyphens stand alone, between other characters", ErrField, name)
	}
	return nil
}
