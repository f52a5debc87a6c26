package skills

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A Scope is where a skill comes from. When two skills have one name, that of
// the earlier scope in this list is taken.
type Scope string

// The scopes.
const (
	ScopeProject    Scope = "project"    // a folder of the project that the broker works in
	ScopeConfigured Scope = "configured" // a folder that the config or $AGENT_SKILLS_PATH names
	ScopeCustom     Scope = "custom"     // installed by the user
	ScopeUser       Scope = "user"       // a folder of the user that several clients share
	ScopePublic     Scope = "public"     // came with an installation
	ScopeVirtual    Scope = "virtual"    // defined in Go
	ScopePlugin     Scope = "plugin"     // part of a plugin
	ScopeServer     Scope = "server"     // served by an MCP server
)

var scopes = []Scope{ScopeProject, ScopeConfigured, ScopeCustom, ScopeUser, ScopePublic, ScopeVirtual, ScopePlugin, ScopeServer}

// A State says whether a skill is in use.
type State string

// The states.
const (
	Enabled  State = "enabled"
	Disabled State = "disabled" // switched off by the user
	Excluded State = "excluded" // left out by the patterns of the config
)

// A Skill is one that was found and loads. It is part of a Snapshot and not
// changed; its text and its files are read when they are asked for.
type Skill struct {
	// Ref is the name under which it is asked for: Name, or plugin:name where
	// another skill has the plain one. Of a server's it is server:name.
	Ref string
	// Name is the declared one.
	Name string
	// Description is the declared one, followed by the field when_to_use.
	Description string
	License     string
	// Compatibility says what the skill needs.
	Compatibility string
	// Version is what its metadata or its header say.
	Version string
	// AllowedTools are the tools that the author had in mind; advice only.
	AllowedTools []string
	// ArgumentHint says what arguments a user may give, or nothing.
	ArgumentHint string
	// UserInvocable means that users may pick it, as a prompt.
	UserInvocable bool
	// ModelInvocable means that the model knows of it.
	ModelInvocable bool

	Scope Scope
	// Plugin is the plugin that it is part of, or empty.
	Plugin string
	// Server is the label of the server that it is from, or empty.
	Server string
	State  State
	// Valid means that it is what the standard says, and so may be served to
	// others: more than that it loads.
	Valid bool
	// Tools are those that are defined in Go.
	Tools []Tool
	// Diagnostics are the warnings of when it was loaded.
	Diagnostics []Diagnostic

	dir     string // where it is on this host; empty if it is virtual
	shown   string // the same by the path at which it was found
	folder  string // the name of that folder as it was found
	file    seen   // its SKILL.md when it was loaded
	virtual *Virtual
	sums    *sums // may be nil
	remote  *remote
	ctx     context.Context // see With
}

// A Tool is something that a skill can do, defined in Go. It is not a tool of the
// MCP server: a model learns of it when it activates the skill.
type Tool struct {
	Name        string
	Description string
	// InputSchema is the JSON Schema of the input, or nil.
	InputSchema json.RawMessage
	// Handler does it. It may be called by several goroutines at a time and must return
	// soon after ctx is done. The input may be nil. Its answer, of any type, is written
	// as JSON.
	Handler func(ctx context.Context, input json.RawMessage) (any, error)
}

// Dir is the skill's folder on this host, or empty for a virtual one. It is for
// the user's eyes: no text for a model may hold it.
func (s *Skill) Dir() string { return s.shown }

// File is the name of the file that makes it a skill: FileName, or that of its
// folder in lower case.
func (s *Skill) File() string {
	if s.file.path == "" {
		return FileName
	}
	return filepath.Base(s.file.path)
}

// Origin says where the skill comes from without saying where that is on this
// host, such as "local:user", "plugin:sales" or "virtual".
func (s *Skill) Origin() string {
	switch s.Scope {
	case ScopePlugin:
		return "plugin:" + s.Plugin
	case ScopeServer:
		return "server:" + s.Server
	case ScopeVirtual:
		return "virtual"
	}
	return "local:" + string(s.Scope)
}

// ID names the skill in the file of what is switched off.
func (s *Skill) ID() string {
	switch s.Scope {
	case ScopePlugin:
		return s.Plugin + ":" + s.Name
	case ScopeServer: // a name says nothing about who speaks
		return "server:" + s.Server + ":" + s.remote.entry.URI
	}
	return s.Name
}

// visible reports whether a model may know of the skill.
func (s *Skill) visible() bool { return s.State == Enabled && s.ModelInvocable }

// Open returns the files of the skill, until the function that comes with them is
// called. No name and no link leads out of them. An error is a *FileError.
func (s *Skill) Open() (files fs.FS, done func(), err error) {
	if s.virtual != nil {
		return s.virtual.fs(), func() {}, nil
	}
	if s.remote != nil {
		return remoteFS{s}, func() {}, nil
	}
	root, err := s.root()
	if err != nil {
		return nil, nil, err
	}
	return root.FS(), func() { root.Close() }, nil
}

// root is the folder of a skill that is on this host.
func (s *Skill) root() (*os.Root, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, &FileError{Code: "not_found", Message: "skill " + quoted(s.Ref) + " is gone: its folder is not there any more"}
	}
	return root, nil
}

// Doc reads the skill's SKILL.md as it is now.
func (s *Skill) Doc() (*Doc, error) {
	if s.virtual != nil {
		return Parse(s.virtual.text()), nil
	}
	if s.remote != nil {
		data, err := s.read(FileName)
		if err != nil {
			return nil, err
		}
		return Parse(data), nil
	}
	root, err := s.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	d := Read(root, s.folder)
	if ok, list := d.Judge(Lenient); !ok {
		return nil, &FileError{Code: "invalid_skill", Message: "skill " + quoted(s.Ref) + " does not load any more: " + firstError(list)}
	}
	return d, nil
}

func firstError(list []Diagnostic) string {
	for _, d := range list {
		if d.Severity == Error {
			return d.Message
		}
	}
	return ""
}

// fill takes what a catalogue needs from a document.
func (s *Skill) fill(d *Doc) {
	s.Name, s.Description, s.License, s.Compatibility = gate.Clean(d.Name), gate.Clean(d.Description), gate.Clean(d.License), gate.Clean(d.Compatibility)
	if when := d.Extra["when_to_use"]; when != "" {
		s.Description = strings.TrimSpace(s.Description + " " + gate.Clean(strings.TrimSpace(when)))
	}
	s.AllowedTools = d.AllowedTools
	s.Version = d.Metadata["version"]
	if v := d.Extra["version"]; s.Version == "" {
		s.Version = v
	}
	s.ArgumentHint = d.Extra["argument-hint"]
	s.UserInvocable = !isWord(d.Extra["user-invocable"], "false", "no", "off")
	s.ModelInvocable = !isWord(d.Extra["disable-model-invocation"], "true", "yes", "on")
}

func isWord(s string, words ...string) bool {
	for _, w := range words {
		if strings.EqualFold(strings.TrimSpace(s), w) {
			return true
		}
	}
	return false
}
