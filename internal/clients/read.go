package clients

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// maxFileBytes bounds a client's file: some contain the client's whole history.
const maxFileBytes = 16 << 20

// A Source is a location of a client's servers.
type Source struct {
	// Client is the ID of the client; empty for a file that the user named.
	Client string
	// Path is the path of the file.
	Path string
	// Scope is "project", "user", "local" (for one user in one project), or "file" for a file that
	// was named.
	Scope string
	// Dir is the project of the servers, in a file with servers for several projects.
	Dir string
	// Servers are its entries in the order of the file.
	Servers []Entry
	// Err is the reason the file could not be read.
	Err error
}

// An Entry is one server of a client in the form of servers.json.
type Entry struct {
	// Name is its key, verbatim.
	Name string
	// Config is its converted form.
	Config config.Object
	// Notes are messages for the user, one sentence each, without secrets.
	Notes []string
	// Needs are the variables that must be set for it.
	Needs []string
	// Secret means that it contains a literal secret.
	Secret bool
	// Secrets are the secrets that were replaced because of Options.Keyring, by their names in the
	// keyring.
	Secrets map[string]string
	// Skip is the reason it cannot be converted, or empty.
	Skip string
	// Self means that it is the broker itself.
	Self bool
}

// Options adjust how entries are read. Nil means the zero value, which works.
type Options struct {
	// LooksSecret reports whether a value looks like a secret, regardless of its name. If nil,
	// only names are checked.
	LooksSecret func(string) bool
	// Self is the absolute path of the broker's program; a program called "broker" with
	// the argument serve counts as the broker in any case.
	Self string
	// Keyring replaces secrets in env and headers by ${keyring:NAME}. Before writing the entry,
	// store Secrets in the keyring.
	Keyring bool
}

// Read reads the files of a client: those of the project first, then those of the user. It skips
// missing files.
func Read(c *Client, e Env, o *Options) []Source {
	r := reader{client: c, env: e, options: orZero(o)}
	var out []Source
	user := c.user(e)
	if c.project != nil {
		for _, path := range c.project(e) {
			// In the home directory, the project's file may be the user's.
			if !slices.ContainsFunc(user, func(u string) bool { return sameFile(u, path) }) {
				out = append(out, r.read(path, "project")...)
			}
		}
	}
	for _, path := range user {
		out = append(out, r.read(path, "user")...)
	}
	// The user's servers for one project come first.
	slices.SortStableFunc(out, func(a, b Source) int {
		switch {
		case a.Scope == b.Scope:
			return 0
		case a.Scope == "local":
			return -1
		case b.Scope == "local":
			return 1
		}
		return 0
	})
	return out
}

// Paths returns the files that Read reads.
func Paths(c *Client, e Env) []string {
	var out []string
	if c.project != nil {
		out = c.project(e)
	}
	return append(slices.Clone(out), c.user(e)...)
}

// ReadFile reads one file in the format of c or, if c is nil, in the format that its name and its
// keys suggest.
func ReadFile(c *Client, path string, e Env, o *Options) ([]Source, error) {
	if c == nil {
		if c = byFile(path); c == nil {
			c = generic(path)
		}
	}
	switch filepath.Ext(path) {
	case ".yaml", ".yml":
		return nil, fmt.Errorf("%s is YAML, which is not read: write its servers as {\"mcpServers\": {…}} into a .json file", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	r := reader{client: c, env: e, options: orZero(o)}
	sources := r.read(path, "file")
	for _, s := range sources {
		if s.Err != nil {
			return nil, fmt.Errorf("%s: %w", path, s.Err)
		}
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("%s has no servers: put them under mcpServers, servers, context_servers, mcp_servers or mcp", path)
	}
	return sources, nil
}

func orZero(o *Options) Options {
	if o == nil {
		return Options{}
	}
	return *o
}

type reader struct {
	client  *Client
	env     Env
	options Options
}

// read returns the locations of servers in one file.
func (r reader) read(path, scope string) []Source {
	data, err := readAll(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []Source{{Path: path, Scope: scope, Err: err}}
	}
	var out []Source
	for _, p := range r.locations(data, scope) {
		s := Source{Path: path, Scope: p.scope}
		if p.scope == "local" {
			s.Dir = r.env.Dir
		}
		if scope != "file" {
			s.Client = r.client.ID
		}
		s.Servers, s.Err = r.entries(data, path, p)
		if s.Servers != nil || s.Err != nil {
			out = append(out, s)
		}
	}
	return out
}

// entries returns the servers of one location, or nil if it does not exist.
func (r reader) entries(data []byte, path string, p serverLocation) ([]Entry, error) {
	fields, err := r.fields(data, p.root)
	if err != nil || fields == nil {
		return nil, err
	}
	off := r.isDisabled(data, path, p.scope)
	inputs := inputsOf(r.client, data)
	dir := filepath.Dir(path)
	if p.scope == "project" || p.scope == "local" {
		dir = r.env.Dir
	}
	out := []Entry{}
	for _, f := range fields {
		c := converter{client: r.client, env: r.env, dir: dir, relative: p.scope != "user",
			inputs: inputs, looksSecret: r.options.LooksSecret, self: r.options.Self, keyring: r.options.Keyring}
		out = append(out, c.convert(f.Key, f.Value, off(f.Key)))
	}
	return out, nil
}

// fields returns the entries of one location. Files without a client may contain a list of servers
// with names, as for mcpproxy.
func (r reader) fields(data []byte, root []string) ([]config.Field, error) {
	v, ok, err := config.LookupKey(data, root)
	if _, isJSON := r.client.format.(jsonFile); r.client.root != nil || !isJSON || err != nil || !ok || v.Value.Kind() != '[' {
		fields, err := r.client.format.servers(data, root)
		return r.ofSecondVersion(fields), err
	}
	fields := []config.Field{}
	for i, entry := range config.Value(v).([]any) {
		server := object(entry)
		name := text(server.Get("name"))
		if name == "" {
			return nil, fmt.Errorf("%s[%d] has no name", strings.Join(root, "."), i)
		}
		fields = append(fields, config.Field{Key: name, Value: slices.DeleteFunc(server, func(f config.Field) bool { return f.Key == "name" })})
	}
	return fields, nil
}

// ofSecondVersion returns the servers of opencode, which are one level deeper since its second
// version.
func (r reader) ofSecondVersion(fields []config.Field) []config.Field {
	i := slices.IndexFunc(fields, func(f config.Field) bool { return f.Key == "servers" })
	if r.client.ID != "opencode" || i < 0 {
		return fields
	}
	inner := object(fields[i].Value)
	if inner.Get("type") != nil || inner.Get("command") != nil || inner.Get("url") != nil {
		return fields // a server with that name
	}
	for _, f := range fields {
		if f.Key != "servers" && object(f.Value) != nil {
			inner = append(inner, f)
		}
	}
	return inner
}

// A serverLocation is a location of servers in a file.
type serverLocation struct {
	root  []string
	scope string
}

// locations returns the locations of servers in the file. The list is never empty, so that an
// unreadable file is reported.
func (r reader) locations(data []byte, scope string) []serverLocation {
	if r.client.root == nil {
		return []serverLocation{{guessRoot(data), scope}}
	}
	var out []serverLocation
	if r.client.ID == "claude-code" && scope != "project" {
		for _, dir := range r.projectKeys() {
			if _, ok, _ := config.LookupKey(data, []string{"projects", dir, "mcpServers"}); ok {
				out = append(out, serverLocation{[]string{"projects", dir, "mcpServers"}, "local"})
				break
			}
		}
	}
	root := r.client.root
	if _, ok, err := config.LookupKey(data, root); scope == "file" && !ok && err == nil {
		if _, isJSON := r.client.format.(jsonFile); isJSON {
			root = guessRoot(data)
		}
	}
	return append(out, serverLocation{root, scope})
}

// projectKeys returns the possible keys of Claude Code for the project.
func (r reader) projectKeys() []string {
	keys := []string{r.env.Dir, filepath.ToSlash(r.env.Dir)}
	if real, err := filepath.EvalSymlinks(r.env.Dir); err == nil {
		keys = append(keys, real, filepath.ToSlash(real))
	}
	return keys
}

// guessRoot finds the keys of the servers in a file of unknown origin.
func guessRoot(data []byte) []string {
	for _, root := range [][]string{{"mcpServers"}, {"servers"}, {"context_servers"}, {"mcp_servers"}, {"amp.mcpServers"}, {"mcp", "servers"}, {"mcp", "mcpServers"}, {"mcp"}} {
		if _, ok, err := config.LookupKey(data, root); ok && err == nil {
			return root
		}
	}
	return mcpServers
}

// isDisabled returns a function that reports servers which the client's other settings disable.
func (r reader) isDisabled(data []byte, path, scope string) func(name string) bool {
	var names, only []string
	switch {
	case r.client.ID == "claude-code":
		if scope == "project" {
			// Servers of a project are disabled in the user's own file.
			data = nil
			if user := r.client.user(r.env)[0]; user != path {
				data, _ = readAll(user)
			}
		}
		for _, dir := range r.projectKeys() {
			names = append(names, stringsAt(data, "projects", dir, "disabledMcpServers")...)
			if scope == "project" {
				names = append(names, stringsAt(data, "projects", dir, "disabledMcpjsonServers")...)
			}
		}
	case r.client.ID == "gemini":
		names, only = stringsAt(data, "mcp", "excluded"), stringsAt(data, "mcp", "allowed")
	}
	return func(name string) bool {
		return slices.Contains(names, name) || len(only) > 0 && !slices.Contains(only, name)
	}
}

// inputsOf returns the descriptions of the inputs of VS Code.
func inputsOf(c *Client, data []byte) map[string]string {
	if _, ok := c.format.(jsonFile); !ok {
		return nil
	}
	v, ok, err := config.LookupKey(data, []string{"inputs"})
	if !ok || err != nil {
		return nil
	}
	inputs := map[string]string{}
	list, _ := config.Value(v).([]any)
	for _, item := range list {
		if o, ok := item.(config.Object); ok {
			id, _ := o.Get("id").(string)
			inputs[id], _ = o.Get("description").(string)
		}
	}
	return inputs
}

func stringsAt(data []byte, path ...string) []string {
	v, ok, err := config.LookupKey(data, path)
	if !ok || err != nil {
		return nil
	}
	list, _ := config.Value(v).([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// readAll reads a file. The result is nil only with an error.
func readAll(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("larger than %d MiB", maxFileBytes>>20)
	}
	return data, err
}
