package script

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

// Kind is that of documents that are Shared.
const Kind = "scripts"

const (
	// MaxBytes is the longest script, as in sandbox.Limits.
	MaxBytes = 256 << 10
	// maxScripts is how many are listed.
	maxScripts = 1000
	ending     = ".ts"
	// versionsDir keeps the versions before the last one.
	versionsDir = "versions"
)

// A Script is one version of a saved script.
type Script struct {
	Name        string    `json:"name"`
	Version     int       `json:"version"`
	Description string    `json:"description,omitempty"`
	Profile     string    `json:"profile,omitempty"`   // that it needs
	Execution   string    `json:"execution,omitempty"` // that it was
	Saved       time.Time `json:"saved,omitzero"`
	// Input is what it takes; nil if it takes nothing.
	Input *Input `json:"input,omitempty"`
	// Code is the whole file.
	Code string `json:"code,omitempty"`
}

// Signature shows its call.
func (s *Script) Signature() string {
	if s.Input == nil {
		return "scripts." + s.Name + "()"
	}
	return "scripts." + s.Name + "(input: " + s.Input.Type + ")"
}

// A NotFoundError is about a script that is not there.
type NotFoundError struct {
	Name string
	Near []string // names of others
}

// Error names the nearest that is there.
func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no saved script is named %q", gate.Cut(e.Name, 80))
	if len(e.Near) > 0 {
		text += "; did you mean " + strings.Join(e.Near, " or ") + "?"
	}
	return text
}

// A Store is where scripts are saved: a folder, with NAME.ts and versions/NAME@1.ts
// for those that it replaced, or documents that several brokers share. People may
// edit the files, and put them under version control. A file counts if it begins
// with the comment that Save writes.
type Store struct {
	// Dir is the folder; "" is none.
	Dir string
	// Shared are documents, by the names of the files. Scripts are saved there then,
	// and of the folder those are read that Shared does not have. Nil saves in Dir.
	Shared *Shared
}

// none reports whether there is no place for scripts.
func (st Store) none() bool { return st.Dir == "" && st.Shared == nil }

// String says where scripts are saved.
func (st Store) String() string {
	if st.Shared != nil {
		return "the database"
	}
	return st.Dir
}

// CheckName says what is wrong with the name of a script: it is an identifier of
// TypeScript.
func CheckName(name string) error {
	if len(name) > 64 || !nameShape.MatchString(name) || tsname.Func(name) != name {
		return fmt.Errorf("%q cannot name a script: use letters, digits and _, with a letter first, at most 64, and no word of the language", gate.Cut(name, 80))
	}
	return nil
}

var nameShape = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_]*$`)

// List returns the scripts as they are now, by name, without their code. A
// folder that is not there has none.
func (st Store) List() ([]Script, error) {
	files, err := st.files()
	if err != nil {
		return nil, fmt.Errorf("list scripts: %w", err)
	}
	var list []Script
	for _, f := range files {
		name := strings.TrimSuffix(f.name, ending)
		if CheckName(name) != nil || len(list) == maxScripts {
			continue
		}
		if s, err := st.parse(name, f); err == nil {
			s.Code = ""
			list = append(list, *s)
		}
	}
	return list, nil
}

// Load returns a script: "NAME", or "NAME@2" for a version of it. The error is a
// *NotFoundError if it is not there.
func (st Store) Load(ref string) (*Script, error) {
	name, version, versioned := strings.Cut(ref, "@")
	if CheckName(name) != nil {
		return nil, st.notFound(ref)
	}
	s, err := st.read(name, name+ending)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errForeign) {
		return nil, st.notFound(ref)
	}
	if err != nil || !versioned {
		return s, err
	}
	n, err := strconv.Atoi(version)
	if err != nil || n < 1 {
		return nil, st.notFound(ref)
	}
	if n == s.Version {
		return s, nil
	}
	s, err = st.read(name, path.Join(versionsDir, versionFile(name, n)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, st.notFound(ref)
	}
	return s, err
}

func versionFile(name string, n int) string { return fmt.Sprintf("%s@%d%s", name, n, ending) }

func (st Store) notFound(ref string) error {
	name, _, _ := strings.Cut(ref, "@")
	list, _ := st.List()
	var known []string
	for _, s := range list {
		if s.Name == name { // another version is not there
			return &NotFoundError{Name: ref, Near: []string{fmt.Sprintf("%s@%d", name, s.Version)}}
		}
		known = append(known, s.Name)
	}
	return &NotFoundError{Name: ref, Near: nearest.Names(name, known, 2)}
}

// errForeign is the error for a file that is not a saved script.
var errForeign = errors.New("it does not begin with the comment of a saved script")

// read reads one file.
func (st Store) read(name, at string) (*Script, error) {
	return st.parse(name, file{name: at, shared: st.Shared != nil})
}

func (st Store) parse(name string, f file) (*Script, error) {
	text, err := st.text(f)
	if err != nil {
		return nil, fmt.Errorf("read script %s: %w", name, err)
	}
	s := &Script{Name: name, Code: text}
	if _, ok := s.header(); !ok {
		return nil, fmt.Errorf("read script %s: %w", name, errForeign)
	}
	s.Input = inputOf(s.Code)
	return s, nil
}

// Save keeps a script as the next version of its name. Its Code may begin with the
// comment of a version before; what s leaves empty is taken from that.
func (st Store) Save(s Script) (saved *Script, err error) {
	if err := CheckName(s.Name); err != nil {
		return nil, err
	}
	unlock, err := st.lock(s.Name)
	if err != nil {
		return nil, fmt.Errorf("save script: %w", err)
	}
	defer unlock()
	given := Script{Code: s.Code}
	body, _ := given.header()
	if s.Description == "" {
		s.Description = given.Description
	}
	if s.Profile == "" {
		s.Profile = given.Profile
	}
	old, err := st.read(s.Name, s.Name+ending)
	switch {
	case err == nil:
		s.Version = old.Version + 1
		if err := st.put(path.Join(versionsDir, versionFile(s.Name, old.Version)), old.Code); err != nil {
			return nil, fmt.Errorf("save script: %w", err)
		}
	case errors.Is(err, fs.ErrNotExist):
		s.Version = 1
	case errors.Is(err, errForeign):
		return nil, fmt.Errorf("save script: %s exists and is not a saved script: choose another name", filepath.Join(st.Dir, s.Name+ending))
	default:
		return nil, err
	}
	s.Saved = time.Now().UTC().Truncate(time.Second)
	s.Code = s.comment() + strings.TrimLeft(body, "\n")
	if !strings.HasSuffix(s.Code, "\n") {
		s.Code += "\n"
	}
	if len(s.Code) > MaxBytes {
		return nil, fmt.Errorf("save script: it has %d bytes; at most %d", len(s.Code), MaxBytes)
	}
	if err := st.put(s.Name+ending, s.Code); err != nil {
		return nil, fmt.Errorf("save script: %w", err)
	}
	s.Input = inputOf(s.Code)
	return &s, nil
}

// Remove removes all versions of a script.
func (st Store) Remove(name string) error {
	if _, err := st.Load(name); err != nil {
		return err
	}
	if strings.Contains(name, "@") {
		return errors.New("all versions of a script are removed together: name it without @")
	}
	if err := st.remove(name); err != nil {
		return fmt.Errorf("remove script: %w", err)
	}
	return nil
}

// The comment at the beginning of a file, and a tag in it.
var (
	comment = lazyregexp.New(`^\s*/\*\*((?s:.*?))\*/[ \t]*\n?`)
	tag     = lazyregexp.New(`^@(\w+)\s+(.*)$`)
)

// header fills in what the comment says that begins s.Code, and returns the rest.
// Without a version it is not one of ours.
func (s *Script) header() (body string, ok bool) {
	m := comment.FindStringSubmatch(s.Code)
	if m == nil {
		return s.Code, false
	}
	var text []string
	for line := range strings.Lines(m[1]) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "*"))
		t := tag.FindStringSubmatch(line)
		switch {
		case t == nil:
			text = append(text, line)
		case t[1] == "version":
			s.Version, _ = strconv.Atoi(t[2])
		case t[1] == "profile":
			s.Profile = t[2]
		case t[1] == "execution":
			s.Execution = t[2]
		case t[1] == "saved":
			s.Saved, _ = time.Parse(time.RFC3339, t[2])
		}
	}
	if s.Version < 1 {
		return s.Code, false
	}
	s.Description = strings.Join(slices.DeleteFunc(text, func(l string) bool { return l == "" }), " ")
	return s.Code[len(m[0]):], true
}

// comment is what header reads.
func (s *Script) comment() string {
	var b strings.Builder
	line := func(text string) {
		b.WriteString(" * " + strings.ReplaceAll(gate.Line(text), "*/", "* /") + "\n")
	}
	b.WriteString("/**\n")
	if s.Description != "" {
		line(s.Description)
	}
	line("@version " + strconv.Itoa(s.Version))
	if s.Profile != "" {
		line("@profile " + s.Profile)
	}
	if s.Execution != "" {
		line("@execution " + s.Execution)
	}
	line("@saved " + s.Saved.Format(time.RFC3339))
	b.WriteString(" */\n")
	return b.String()
}
