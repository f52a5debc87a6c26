// Package config reads servers.json: the upstream servers, as in other MCP clients, and the
// broker's own settings under the key "broker".
//
// Parse and Load check the whole file and return all mistakes as a *Report with lines of the form
// file:line:column: text. A Config contains nothing from the environment: references such as
// ${VAR} stay as written until Sources.Expand resolves them, when a server is connected.
//
// Find and StateDir return the paths of the file and of the broker's state.
package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/policy"
)

// maxFileBytes bounds a configuration file.
const maxFileBytes = 16 << 20

// A Config is a valid servers.json. It is immutable, so goroutines may share it.
type Config struct {
	// Path is the path given to Load or Parse.
	Path string
	// Name is the file's name without its extension, such as "servers".
	Name string
	// Servers are the upstream servers, including disabled ones, in the order of the file.
	Servers []Server
	// Broker are the broker's own settings.
	Broker Broker
	// Managed is the policy of the administrator of this computer, which takes precedence over
	// that of Broker; it may be nil. Parse does not set it.
	Managed *policy.Rules
	// Notes are warnings, such as unknown keys, in the order of the file. Each has the form
	// file:line:column: text.
	Notes []string
}

// A Permit decides whether a program may start. Its values are comparable.
type Permit interface {
	MayStart() error
}

// A Server is one upstream server as it is configured. Exactly one of Command
// and URL is set. Command, Args, Env, Dir, URL and Headers may hold references
// that Sources.Expand resolves. A zero duration means the default of the connection.
type Server struct {
	// Name is its key in the file, verbatim; any text that is not blank.
	Name string
	// OfPlugin means that it is not in the file, but from a plugin.
	OfPlugin bool
	// Permit is called before each start of Command; nil allows every start.
	Permit Permit `json:"-"`
	// File is the file of a project that contains it; empty for other servers.
	File string
	// Description is one line on its purpose.
	Description string `name:"description"`
	// Type is its transport, also "streamable-http"; default "stdio" with
	// Command, else detected. It is "stdio" if Command is set, otherwise "http", "sse", or empty when
	// the file leaves open which of the two the URL speaks.
	Type string `name:"type" read:"own"`
	// Disabled leaves the server out.
	Disabled bool `name:"disabled"`

	// Command is the program to start.
	Command string `name:"command" read:"command"`
	// Args are its arguments.
	Args []string `name:"args" read:"reference"`
	// Direct runs the package without `npx` or `uvx`, where the command is plain;
	// default true. See docs/servers.md#packages-run-directly.
	Direct *bool `name:"direct"`
	// Env are environment variables of the program, besides the basic ones.
	Env map[string]string `name:"env" read:"own"`
	// Dir is the working directory of the program, a relative one relative to the
	// folder of the file; default that of the broker. It is as written: Config.Resolve
	// makes it absolute.
	Dir string `name:"cwd" read:"reference"`

	// URL is the address of a remote server.
	URL string `name:"url" read:"url"`
	// Headers are sent with each request to URL.
	Headers map[string]string `name:"headers" read:"own"`
	// OAuth is the client of the sign-in; default the broker registers itself.
	OAuth OAuth `name:"oauth" read:"own"`
	// Credentials are the credentials for it: those of the config, those of each person, or
	// tokens that are issued for each person's token; default "shared". See
	// docs/people.md.
	Credentials string `name:"credentials" words:"shared user exchange"`

	// Allow are patterns (`*`, `?`, `[ab]`) of tools that may be used; default all.
	Allow []string `name:"tools.allow" read:"pattern"`
	// Deny are patterns of tools that may not be used, even if Allow has them.
	Deny []string `name:"tools.deny" read:"pattern"`
	// Overrides are changes of tools, by the name that the server gives them.
	Overrides map[string]Override `name:"tools.override" read:"own"`

	// KeepAlive keeps the server running when it is idle.
	KeepAlive bool
	// IdleTimeout is the time without calls after which it is stopped, `true` for never; default
	// "10m". KeepAlive stands for that `true`.
	IdleTimeout time.Duration `name:"keepAlive" read:"own"`
	// StartTimeout is the time for its process to start and list its tools, see
	// [servers.md](servers.md#servers-that-fail); default "60s", and "300s" for npx,
	// uvx and the like.
	StartTimeout time.Duration `name:"startTimeout"`
	// CallTimeout is the time limit of a call, from when it is sent; default "120s".
	CallTimeout time.Duration `name:"callTimeout"`
	// InFlight is the number of calls on one instance at one time, further ones wait;
	// default 16, and 1 for servers known to lose concurrent writes.
	InFlight int `name:"inFlight" also:"maxConcurrent" most:"10000"`
	// Instances are the clients that share a running instance; default what suits the server. See
	// docs/serve.md#instances. Empty decides by what is known of the server.
	Instances string `name:"instances" words:"shared client project"`
	// Learn learns the types of its results; default as Learn of the broker.
	Learn *bool `name:"learn"`
	// Instructions are what models read of the server's own instructions: false for nothing, another
	// number of characters, or a text in their place, see [servers.md](servers.md#instructions);
	// default the first 400 characters.
	Instructions Instructions `name:"instructions" read:"own"`
}

// Instructions say what models read of the instructions of a server: the first MaxChars
// characters unless there is a Text.
type Instructions struct {
	Off      bool
	Text     string
	MaxChars int
}

// An Override changes one tool of a server. What is empty stays as it is.
type Override struct {
	// Name is another name: letters, digits, `_`, `-` and `.`, at most 64; patterns of
	// tools use the server's own.
	Name string `name:"name"`
	// Description is another description.
	Description string `name:"description"`
	// Defaults are arguments that calls are sent with unless they have them; callers do
	// not see the values.
	Defaults map[string]json.RawMessage `name:"defaults" read:"own"`
	// Hide are parameters that callers neither see nor can give.
	Hide []string `name:"hide"`
}

// OAuth is the broker's client for the sign-in to a remote server. The zero value means that it
// registers itself. ClientID and ClientSecret may contain references that Sources.Expand resolves.
type OAuth struct {
	// ClientID is that of a client that was registered by hand.
	ClientID string `name:"clientId" read:"filled"`
	// ClientSecret is the secret of that client.
	ClientSecret string `name:"clientSecret" read:"clientSecret"`
	// Scopes are the scopes to ask for; default what the server names.
	Scopes []string `name:"scopes" read:"own"`
	// CallbackPort is the port of the redirect address
	// `http://127.0.0.1:PORT/callback`; default a free one.
	CallbackPort int `name:"callbackPort" most:"65535"`
	// CallbackHost is the host of that address, "127.0.0.1" or "localhost"; default the
	// first, or the second if the server refuses the first.
	CallbackHost string `name:"callbackHost" words:"127.0.0.1 localhost"`
	// Resource is the resource of tokens (RFC 8707), or "none" for authorization servers
	// that take it from the scopes; default the one in the server's metadata.
	Resource string `name:"resource" read:"filled"`
	// ClientMetadataURL is the address of a client ID metadata document.
	ClientMetadataURL string `name:"clientMetadataUrl" read:"metadataURL"`
	// Issuer is the only authorization server to accept, also with a sign-in page on
	// another host; default the one that the server names, and for a secret the one of
	// the first sign-in.
	Issuer string `name:"issuer" read:"filled"`
	// TokenEndpoint is the endpoint that exchanges the tokens of people, for credentials of that
	// kind. See docs/people.md#exchanged-tokens.
	TokenEndpoint string `name:"tokenEndpoint" read:"secureURL"`
	// Audience is the audience of the new tokens.
	Audience string `name:"audience" read:"filled"`
}

// Remote reports whether the server is reached by URL.
func (s *Server) Remote() bool { return s.URL != "" }

// Broker contains the settings under the key "broker". The zero value of every field means its
// default; WithDefaults sets those that do not depend on anything.
type Broker struct {
	// Mode is what the model sees.
	Mode string `name:"mode" words:"code tools auto" default:"code" reload:"live"`
	// AutoThreshold is the highest number of tokens of definitions with which mode "auto" lists
	// the tools; below 100, the highest number of tools.
	AutoThreshold int `name:"autoThreshold" most:"1000000" default:"1500" reload:"live"`
	// Language is the language of scripts that name none.
	Language string `name:"language" words:"typescript javascript python" default:"typescript" reload:"live"`
	// Timeout is the time limit of an execution that does not ask for one.
	Timeout time.Duration `name:"timeout" default:"30s" reload:"live"`
	// MaxTimeout is the longest time limit that an execution may ask for.
	MaxTimeout time.Duration `name:"maxTimeout" default:"120s" reload:"live"`
	// MaxOutputChars is the number of characters of stdout and the result that reach the
	// model.
	MaxOutputChars int `name:"maxOutputChars" most:"100000000" default:"10000" reload:"live"`
	// Pins holds tools back that changed since they were approved or have
	// hidden instructions: with "strict" everything waits for a person.
	// See docs/approvals.md#pins.
	Pins string `name:"pins" words:"on strict off" default:"on" reload:"live"`
	// ReadOnly leaves only tools that their server marks `readOnlyHint`, and whose name
	// does not say that they delete something; nothing verifies the mark.
	ReadOnly bool `name:"readOnly" reload:"live"`
	// Profile is the profile of clients that name none, which `broker profiles use
	// NAME` sets; default all tools.
	Profile string `name:"profile" reload:"restart"`
	// Profiles are which servers and tools some clients have, by name.
	Profiles map[string]Profile `name:"profiles" read:"own" reload:"live"`
	// Quotas are limits of the calls and executions of users, teams, servers and tools in a period;
	// default none. See docs/operations.md#quotas.
	Quotas []Quota `name:"quotas" read:"own" reload:"live"`
	// PersonalProcesses is the number of programs that run at one time for people with accounts
	// of their own, each for one person and server; default 128. See
	// docs/people.md#secrets-of-people.
	PersonalProcesses int `name:"personalProcesses" most:"100000" reload:"restart"`
	// Typecheck is the check of scripts by a compiler, which "strict" requires; a path is that
	// of the compiler.
	Typecheck string `name:"typecheck" read:"compiler" default:"auto" reload:"live"`
	// Durability is "full" if journals of runs must survive a power cut at any moment, at a cost
	// of some milliseconds for each call that writes. See
	// docs/approvals.md#runs.
	Durability string `name:"durability" words:"normal full" default:"normal" reload:"restart"`
	// State is the address of a PostgreSQL database that several brokers share, such as
	// "postgres://broker:${PGPASSWORD}@db/broker"; default the state directory. See
	// docs/deploy.md.
	State string `name:"state" read:"database" reload:"restart"`
	// Objects is the address of a store with the API of Amazon S3 for results beyond 64 KiB, such as
	// "s3://bucket/prefix?endpoint=https://s3.example&region=eu-1"; default the database that
	// "state" names. See docs/deploy.md#results-as-objects.
	Objects string `name:"objects" read:"objects" reload:"restart"`
	// StateFailure is what continues while that database cannot be reached: with "read" calls that
	// only read, with "refuse" no execution that cannot be recorded there. See
	// docs/deploy.md#while-the-database-is-away.
	StateFailure string `name:"stateFailure" words:"read refuse" default:"read" reload:"restart"`
	// StateKey are the keys of sign-ins, of what people connect, of hidden values, of journals of
	// runs and of sessions of workflows in that database, the first of which seals and all of
	// which open, such as "${BROKER_STATE_KEY}": 64 hexadecimal digits each, as `openssl rand -hex
	// 32` prints them; default sign-ins and hidden values stay on the machine that has them.
	StateKey []string `name:"stateKey" read:"secret" reload:"restart"`
	// NotedReads reports reads of fields that are not in any known type.
	NotedReads *bool `name:"notedReads" default:"true" reload:"live"`
	// Learn learns types from results.
	Learn *bool `name:"learn" default:"true" reload:"live"`
	// Audit is about the record of executions and calls.
	Audit Audit `name:"audit"`
	// Telemetry is about traces and metrics. See docs/audit.md#traces-and-metrics.
	Telemetry Telemetry `name:"telemetry"`
	// Metrics is the address, such as "127.0.0.1:9464", at which Prometheus finds
	// `/metrics` while `serve` runs; default none. See docs/audit.md#traces-and-metrics.
	Metrics string `name:"metrics" reload:"restart"`
	// Search is about `search_tools`.
	Search Search `name:"search"`
	// Sandbox is about where scripts run.
	Sandbox Sandbox `name:"sandbox" read:"own"`
	// HTTP is about who may use the broker over the network.
	HTTP HTTP `name:"http"`
	// Skills is about where skills are found and which are used.
	Skills Skills `name:"skills" read:"own"`
	// Plugins is about where plugins are installed.
	Plugins Plugins `name:"plugins" read:"own" reload:"live"`
	// Redact is what models get tokens for in place of values. See docs/security.md#data-flow.
	Redact Redact `name:"redact"`
	// Policy is which calls are allowed, asked about or denied; default preset
	// "balanced". See docs/policy.md. Nil means policy.Default.
	Policy *policy.Rules `name:"policy" read:"own" reload:"live"`
}

// Redact says what models get tokens for in place of values.
type Redact struct {
	// Secrets gives models tokens in place of keys, passwords and other secrets.
	Secrets *bool `name:"secrets" default:"true" reload:"live"`
	// Personal does so for e-mail addresses, phone numbers, payment cards, IBANs and
	// social security numbers.
	Personal bool `name:"personal" reload:"live"`
	// Reveal are tools that may have the values of all tokens, such as "crm" or
	// "mail.send_*".
	Reveal []string `name:"reveal" read:"tools" reload:"live"`
}

// Patterns returns the patterns of Reveal, which have been checked.
func (r Redact) Patterns() policy.Patterns {
	p, _ := policy.NewPatterns(r.Reveal)
	return p
}

// Audit configures the record, and how long it is kept.
type Audit struct {
	// Code records scripts, up to 64 KiB of each, secrets redacted.
	Code *bool `name:"code" default:"true" reload:"restart"`
	// Payloads records arguments, results and answers too, in the same way.
	Payloads bool `name:"payloads" reload:"restart"`
	// Days is the number of days for which records are kept.
	Days int `name:"days" most:"36500" default:"30" reload:"restart"`
	// MaxSize is the size of the record beyond which the oldest rows are removed; default
	// "256MB".
	MaxSize int64 `name:"maxSize" least:"1MiB" most:"1024GiB" reload:"restart"`
	// Anchor is a file to which the head of the record's chain of hashes is added;
	// default none.
	Anchor string `name:"anchor" reload:"restart"`
}

// Telemetry says where traces and metrics go.
type Telemetry struct {
	// Endpoint is the address of an OpenTelemetry collector that takes OTLP over HTTP, such
	// as "http://localhost:4318"; default `OTEL_EXPORTER_OTLP_ENDPOINT` of the environment.
	Endpoint string `name:"endpoint" reload:"restart"`
	// Baggage are keys of a client's W3C baggage that servers get, other keys end at
	// the broker; default none.
	Baggage []string `name:"baggage" reload:"restart"`
}

// Search tunes search_tools.
type Search struct {
	// Wait is the time that a search waits for servers that were never listed, or 0;
	// default "10s". See docs/search.md#while-servers-start.
	Wait *time.Duration `name:"wait" reload:"live"`
	// Learn raises tools a little that were called after similar searches, for everybody
	// or, false, for nobody; default for you, and not for clients with tokens. See
	// docs/search.md#what-worked-before.
	Learn *bool `name:"learn" reload:"live"`
}

// Sandbox says where programs run and what they may use.
type Sandbox struct {
	// Isolation is the isolation of scripts.
	Isolation string `name:"isolation" words:"auto worker container inprocess" default:"auto" reload:"restart"`
	// Languages are isolations by language, such as {"typescript": "container"}. Python
	// always has "container".
	Languages map[string]string `name:"languages" read:"own" reload:"restart"`
	// Runner is the engine in containers.
	Runner string `name:"runner" words:"goja node" default:"goja" reload:"restart"`
	// PerCall lets each script ask for its isolation.
	PerCall bool `name:"perCall" reload:"restart"`
	// Require are layers that must be active, or nothing runs: "seccomp", "landlock",
	// "memory", "container"; default none.
	Require []string `name:"require" read:"layer" reload:"restart"`
	// Memory is the memory of one execution.
	Memory int64 `name:"memory" least:"16MiB" most:"1024GiB" default:"256MiB" reload:"live"`
	// MaxCode is the longest script.
	MaxCode int64 `name:"maxCode" least:"1KiB" most:"64MiB" default:"256KiB" reload:"live"`
	// MaxResult is the largest result, and the largest argument of a call.
	MaxResult int64 `name:"maxResult" least:"64KiB" most:"1GiB" default:"16MiB" reload:"live"`
	// MaxOutput is the largest stdout, and the largest stderr.
	MaxOutput int64 `name:"maxOutput" least:"64KiB" most:"1024GiB" default:"64MiB" reload:"live"`
	// MaxCalls is the number of calls of one execution.
	MaxCalls int `name:"maxCalls" most:"1000000" default:"500" reload:"live"`
	// InFlight is the number of calls of one execution at one time.
	InFlight int `name:"inFlight" most:"10000" default:"16" reload:"live"`
	// MaxExecutions is the number of executions at one time, further ones wait; default
	// four for each processor, 8 to 64. There are a few more for clients that have none
	// running.
	MaxExecutions int `name:"maxExecutions" most:"1000" reload:"restart"`
	// Remote runs scripts of isolation "worker" at broker sandboxd, on other machines.
	Remote *RemoteSandbox `name:"remote" read:"own" reload:"restart"`
	// Docker is the address of the container engine; default `$DOCKER_HOST`, or one of the
	// default sockets.
	Docker *DockerEngine `name:"docker" read:"own" reload:"restart"`
}

// DockerEngine is the address of a container engine, and the files for TLS with it. Host is set.
type DockerEngine struct {
	// Host is "unix:///PATH" or "tcp://HOST:PORT".
	Host string `name:"host" read:"filled" reload:"restart"`
	// CA is the PEM file of the authority of the engine's certificate. An engine on another
	// machine needs it, and the other two.
	CA string `name:"ca" read:"filled" reload:"restart"`
	// Cert is the PEM file of the broker's certificate.
	Cert string `name:"cert" read:"filled" reload:"restart"`
	// Key is the PEM file of its key.
	Key string `name:"key" read:"filled" reload:"restart"`
}

// RemoteSandbox names the sandboxd that run scripts, and the files by which the
// broker and they know each other.
type RemoteSandbox struct {
	// Addresses are those of broker sandboxd, "host:port"; a name may have several.
	Addresses []string `name:"addresses" read:"hostPort" reload:"restart"`
	// CA is the PEM file of the authority of their certificates.
	CA string `name:"ca" reload:"restart"`
	// Cert is the PEM file of the broker's certificate.
	Cert string `name:"cert" reload:"restart"`
	// Key is the PEM file of its key.
	Key string `name:"key" reload:"restart"`
}

// IsolationOf returns the isolation of scripts in a language: "worker", "container" or "inprocess".
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

// SandboxSettings returns the sandbox settings with defaults, and with paths relative to the
// config made absolute.
func (c *Config) SandboxSettings() Sandbox {
	s := c.Broker.WithDefaults().Sandbox
	if r := s.Remote; r != nil {
		s.Remote = &RemoteSandbox{Addresses: r.Addresses, CA: c.Resolve(r.CA), Cert: c.Resolve(r.Cert), Key: c.Resolve(r.Key)}
	}
	if d := s.Docker; d != nil && d.CA != "" {
		s.Docker = &DockerEngine{Host: d.Host, CA: c.Resolve(d.CA), Cert: c.Resolve(d.Cert), Key: c.Resolve(d.Key)}
	}
	return s
}

// WithDefaults returns b with every zero field set to the default in its tag. Timeout is
// at most MaxTimeout.
func (b Broker) WithDefaults() Broker {
	unset := b.Timeout == 0
	setDefaults(reflect.ValueOf(&b).Elem())
	if unset {
		b.Timeout = min(b.Timeout, b.MaxTimeout)
	}
	return b
}

// Load reads the file at path. For an invalid file it returns a *Report with every mistake.
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

// Resolve makes a path of the file absolute: a relative path is relative to the directory of the
// file. An empty path, or one that begins with a reference, does not change.
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

// configName returns a file's name without its extension and leading dots.
func configName(path string) string {
	base := filepath.Base(filepath.ToSlash(path))
	base = strings.TrimLeft(strings.TrimSuffix(base, filepath.Ext(base)), ".")
	if base == "" || base == string(filepath.Separator) {
		return "config"
	}
	return base
}

// ErrNoConfig means that no configuration file was found.
var ErrNoConfig = errors.New("no config file")
