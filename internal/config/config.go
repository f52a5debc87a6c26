// Package config reads servers.json: the upstream servers as people have them
// already, and the broker's own settings under the key "broker".
//
// Parse and Load check the whole file and answer with every mistake at once, as
// a *Report whose lines have the form file:line:column: what is wrong. Nothing
// of the environment goes into a Config: references such as ${VAR} stay as they
// are written until Sources.Expand resolves them, when a server is connected to.
//
// Find and StateDir say where the file and the broker's state are.
package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/policy"
)

// maxFileBytes bounds a configuration file; a larger one is some other file.
const maxFileBytes = 16 << 20

// A Config is one servers.json that was read and found right. It is not changed
// after it was read, so it may be shared between goroutines.
type Config struct {
	// Path is where the file is, as it was given to Load or Parse.
	Path string
	// Name is the file's name without its extension, such as "servers".
	Name string
	// Servers are the upstream servers, disabled ones among them, in the order
	// of the file.
	Servers []Server
	// Broker are the broker's own settings.
	Broker Broker
	// Managed is the policy of who manages this computer, which is above that of
	// Broker; nil without one. Parse leaves it alone.
	Managed *policy.Rules
	// Notes are warnings that do not make the file wrong, such as unknown keys,
	// in the order of the file. Each has the form file:line:column: text.
	Notes []string
}

// A Server is one upstream server as it is configured. Exactly one of Command
// and URL is set. Command, Args, Env, Dir, URL and Headers may hold references
// that Sources.Expand resolves. A zero duration means the default of the connection.
type Server struct {
	// Name is its key in the file, verbatim; any text that is not blank.
	Name string
	// OfPlugin means that it does not stand in the file: a plugin has brought it.
	OfPlugin bool
	// File is the file of a project that it stands in; empty for others.
	File string
	// Description says in a line what it is for; it may be empty.
	Description string
	// Type is "stdio" if Command is set, otherwise "http", "sse", or empty when
	// the file leaves open which of the two the URL speaks.
	Type string
	// Disabled means that the server is not to be used.
	Disabled bool

	// Command is the program of a stdio server, with its Args.
	Command string
	Args    []string
	// Direct runs the package that npx or uvx would run without these; nil means
	// yes, if the command is plain enough.
	Direct *bool
	// Env is what the program finds in its environment beside the basics.
	Env map[string]string
	// Dir is its working directory as written; Config.Resolve makes a relative
	// one absolute. Empty means the broker's own.
	Dir string

	// URL is where a remote server is, and Headers are sent with each request.
	URL     string
	Headers map[string]string
	// OAuth is what the broker is to the authorization server of the URL.
	OAuth OAuth

	// Allow and Deny are patterns of tool names in the style of path.Match.
	// Without Allow, all tools are allowed; Deny wins.
	Allow, Deny []string
	// Overrides change tools, by the name that the server gives them.
	Overrides map[string]Override

	// KeepAlive keeps the server running when it is idle.
	KeepAlive bool
	// IdleTimeout is how long it may be idle before it is stopped.
	IdleTimeout time.Duration
	// StartTimeout is how long it may take to start and to list its tools.
	StartTimeout time.Duration
	// CallTimeout is how long one call may take.
	CallTimeout time.Duration
	// InFlight is how many calls may run on one instance at once; further ones
	// wait.
	InFlight int
	// Instances is who shares one: "shared", "client" or "project"; empty decides
	// by what is known of the server.
	Instances string
	// Learn learns output types from this server's results; nil means as
	// Broker.Learn says.
	Learn *bool
}

// An Override changes one tool of a server. What is empty stays as it is.
type Override struct {
	// Name and Description are what the tool is called, and said to do.
	Name, Description string
	// Defaults are arguments, as JSON, that a call is sent with if it does not have
	// them.
	Defaults map[string]json.RawMessage
	// Hide are parameters that callers neither see nor can give.
	Hide []string
}

// OAuth is how the broker introduces itself when a remote server asks for a
// sign-in. The zero value means that it registers itself. ClientID and
// ClientSecret may hold references that Sources.Expand resolves.
type OAuth struct {
	// ClientID and ClientSecret are those of a client registered by hand.
	ClientID, ClientSecret string
	// Scopes are asked for instead of those that the server names.
	Scopes []string
	// CallbackPort is the port of the client's redirect address,
	// http://127.0.0.1:PORT/callback; 0 takes a free one.
	CallbackPort int
	// ClientMetadataURL is the address of a client ID metadata document.
	ClientMetadataURL string
	// Issuer is the only authorization server that ClientID and ClientSecret are
	// for; empty means that of the first sign-in.
	Issuer string
}

// Remote reports whether the server is reached by URL.
func (s *Server) Remote() bool { return s.URL != "" }

// Broker is what stands under the key "broker". The zero value of every field
// means its default, which is named beside it; WithDefaults fills them in.
type Broker struct {
	// Mode is what the model sees: "code" (default), "tools" or "auto".
	Mode string
	// AutoThreshold is up to how many upstream tools "auto" lists; default 20.
	AutoThreshold int
	// Language of programs that name none: "typescript" (default),
	// "javascript" or "python".
	Language string
	// Timeout of an execution that asks for none; default 30 s.
	Timeout time.Duration
	// MaxTimeout is the longest that an execution may ask for; default 120 s.
	MaxTimeout time.Duration
	// MaxOutputChars is how many characters of stdout, and of the result, reach
	// the model; default 10,000.
	MaxOutputChars int
	// Pins is "on", "strict" or "off"; empty means "on".
	Pins string
	// ReadOnly takes every tool that is not marked read-only out of scope.
	ReadOnly bool
	// Profile is that of clients which name none; empty for all tools.
	Profile string
	// Profiles are by name.
	Profiles map[string]Profile
	// Typecheck is "auto" (default), "off", "strict", which refuses scripts that
	// no compiler has checked, or the path of a compiler.
	Typecheck string
	// Durability is "normal", or "full": what journals of runs keep survives a power
	// cut, not only a crash.
	Durability string
	// State is the address of a PostgreSQL database, with references; empty keeps
	// everything in the state directory.
	State string
	// StateKey seals sign-ins in that database, as 64 hexadecimal digits, with
	// references; empty keeps them on the machine that signed in.
	StateKey string
	// NotedReads notes reads of properties that no type has; default true.
	NotedReads *bool
	// Learn learns output types from results; default true.
	Learn *bool
	// Audit is about the record of executions and calls.
	Audit Audit
	// Telemetry is about traces and metrics.
	Telemetry Telemetry
	// Metrics is the address at which Prometheus finds metrics; empty for none.
	Metrics string
	// Search is about search_tools.
	Search Search
	// Sandbox is about where programs run.
	Sandbox Sandbox
	// HTTP is about serving over HTTP.
	HTTP HTTP
	// Skills is about where skills are found and which are used.
	Skills Skills
	// Plugins is about where plugins are installed.
	Plugins Plugins
	// Redact says what models get tokens for.
	Redact Redact
	// Policy decides which calls are allowed; nil means policy.Default.
	Policy *policy.Rules
}

// Redact says what models get tokens for in place of values.
type Redact struct {
	Secrets  *bool
	Personal bool
	// Reveal are the tools that may have the values of all tokens.
	Reveal []string
}

// Patterns are those of Reveal, which were checked.
func (r Redact) Patterns() policy.Patterns {
	p, _ := policy.NewPatterns(r.Reveal)
	return p
}

// Audit says what is recorded, and for how long.
type Audit struct {
	// Code records scripts, secrets redacted; default true.
	Code *bool
	// Payloads records arguments and results too, in the same way.
	Payloads bool
	// Days is how long records are kept; default 30.
	Days int
	// MaxSize is how many bytes they may have before the oldest go; default 256 MB.
	MaxSize int64
	// Anchor is a file to which the head of the chain is added; default none.
	Anchor string
}

// Telemetry says where traces and metrics go.
type Telemetry struct {
	// Endpoint is the address of a collector that speaks OTLP over HTTP; empty means
	// that of the environment, if there is one.
	Endpoint string
	// Baggage are the keys of a client's baggage that servers get; default none.
	Baggage []string
}

// Search tunes search_tools.
type Search struct {
	// Vectors is the path of a table of word vectors; empty means none.
	Vectors string
	// Wait is how long a search waits for servers that were never listed;
	// default 10 s, 0 for none.
	Wait *time.Duration
}

// Sandbox says where programs run and what they may use.
type Sandbox struct {
	// Isolation is "auto" (default), "worker", "container" or "inprocess".
	Isolation string
	// Languages has the isolation, "worker" or "container", of languages that
	// have another one: "typescript", "javascript". Python always has
	// "container".
	Languages map[string]string
	// Runner is what runs TypeScript and JavaScript in containers: "goja"
	// (default), the broker's own engine, or "node".
	Runner string
	// PerCall lets each script ask for its isolation; default false.
	PerCall bool
	// Require names the layers without which nothing runs: "seccomp",
	// "landlock", "memory", "container". Default none.
	Require []string
	// Memory of one execution in bytes; default 256 MiB.
	Memory int64
	// MaxCode is the longest program in bytes; default 256 KiB.
	MaxCode int64
	// MaxResult is the largest result of an execution, and the largest argument
	// of a call, in bytes; default 16 MiB.
	MaxResult int64
	// MaxOutput is how many bytes of what a program prints to each of stdout and
	// stderr are taken at all; default 64 MiB.
	MaxOutput int64
	// MaxCalls is the number of calls in one execution; default 500.
	MaxCalls int
	// InFlight is the number of calls of one execution at one time; default 16.
	InFlight int
	// MaxExecutions is the number of executions at one time, besides a few for
	// clients that have none running; further ones wait.
	// Zero is the default: four for each processor, at least 8 and at most 64.
	MaxExecutions int
}

// IsolationOf is where scripts of a language run: "worker", "container" or
// "inprocess".
func (s Sandbox) IsolationOf(language string) string {
	isolation := s.Languages[language]
	switch {
	case language == "python":
		return "container"
	case isolation == "":
		isolation = s.Isolation
	}
	if isolation == "" || isolation == "auto" {
		return "worker"
	}
	return isolation
}

// HTTP says who may use the broker over HTTP. Its values may hold references
// that Sources.Expand resolves.
type HTTP struct {
	// Tokens maps the name of a client to its bearer token; default none.
	Tokens map[string]Token
	// SignIn accepts the access tokens of an authorization server.
	SignIn SignIn
	// AdminToken allows changes of skills and plugins; empty allows none.
	AdminToken string
}

// SignIn says whose access tokens are good at the endpoint. Issuer and Resource are
// set, or neither is.
type SignIn struct {
	Issuer   string   // the authorization server
	Resource string   // what clients call the endpoint, the audience of tokens
	Scopes   []string // that tokens must have
	User     string   // the claim that names the person; empty is "sub"
	// ProfileClaim names the claim whose values Profiles maps to profiles; without
	// it a person may use all.
	ProfileClaim string
	Profiles     map[string]string
}

// WithDefaults returns b with every zero field set to its default.
func (b Broker) WithDefaults() Broker {
	orDefault(&b.Mode, "code")
	orDefault(&b.AutoThreshold, 20)
	orDefault(&b.Language, "typescript")
	orDefault(&b.MaxTimeout, defaultMaxTimeout)
	orDefault(&b.Timeout, min(30*time.Second, b.MaxTimeout))
	orDefault(&b.MaxOutputChars, 10_000)
	orDefault(&b.Typecheck, "auto")
	orDefault(&b.NotedReads, new(true))
	orDefault(&b.Learn, new(true))
	orDefault(&b.Redact.Secrets, new(true))
	orDefault(&b.Audit.Code, new(true))
	orDefault(&b.Audit.Days, 30)
	orDefault(&b.Sandbox.Isolation, "auto")
	orDefault(&b.Sandbox.Runner, "goja")
	orDefault(&b.Sandbox.Memory, 256<<20)
	orDefault(&b.Sandbox.MaxCode, 256<<10)
	orDefault(&b.Sandbox.MaxResult, 16<<20)
	orDefault(&b.Sandbox.MaxOutput, 64<<20)
	orDefault(&b.Sandbox.MaxCalls, 500)
	orDefault(&b.Sandbox.InFlight, 16)
	return b
}

const defaultMaxTimeout = 120 * time.Second

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// Load reads the file at path. A file that can be read but is wrong is a
// *Report with every mistake.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	return Parse(path, data)
}

// Resolve makes a path that stands in the file absolute: a relative one counts
// from the directory of the file. Empty stays empty, and so does what a reference
// begins.
func (c *Config) Resolve(path string) string {
	if path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, "${") {
		return path
	}
	dir := filepath.Dir(c.Path)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Join(dir, path)
}

// Server returns the server of that name, or nil.
func (c *Config) Server(name string) *Server {
	for i := range c.Servers {
		if c.Servers[i].Name == name {
			return &c.Servers[i]
		}
	}
	return nil
}

// configName is a file's name without extension and leading dots.
func configName(path string) string {
	base := filepath.Base(filepath.ToSlash(path))
	base = strings.TrimLeft(strings.TrimSuffix(base, filepath.Ext(base)), ".")
	if base == "" || base == string(filepath.Separator) {
		return "config"
	}
	return base
}

// ErrNoConfig means that no configuration file was found where one is looked
// for.
var ErrNoConfig = errors.New("no config file")
