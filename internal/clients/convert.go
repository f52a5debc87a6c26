package clients

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// A converter converts one entry of a client to one of servers.json.
type converter struct {
	client      *Client
	env         Env
	dir         string // of the project, or of the file
	relative    bool   // paths in the entry are relative to dir
	inputs      map[string]string
	looksSecret func(string) bool
	self        string
	keyring     bool

	out     Entry
	values  parts
	dropped []string // keys that are only meaningful to the client
}

// parts are the values found in an entry.
type parts struct {
	description, kind     string
	command, cwd          string
	args                  []string
	url                   string
	env, headers          config.Object
	allow, deny           []string
	disabled              bool
	keepAlive             any
	startTimeout, timeout any // in the syntax of servers.json
	extension             bool
	oauth, unknown        config.Object
}

// clientOnly are keys about the client's treatment of a server, which do not concern the broker.
var clientOnly = []string{"trust", "alwaysLoad", "autoApprove", "alwaysAllow", "gallery", "version", "source", "required", "icon",
	"default_tools_approval_mode", "supports_parallel_tool_calls", "experimental_environment", "environment_id", "dev", "sandboxEnabled", "sandbox", "settings", "id", "name",
	"created", "updated", "isolation", "health_check_interval", "tool_discovery_interval"}

func (c *converter) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.out.Notes, text) {
		c.out.Notes = append(c.out.Notes, text)
	}
}

func (c *converter) convert(name string, raw any, off bool) Entry {
	c.out.Name = name
	c.values.disabled = off
	o, ok := raw.(config.Object)
	if !ok {
		c.out.Skip = "not an object"
		return c.out
	}
	for _, f := range o {
		c.field(f.Key, f.Value)
	}
	c.home()
	c.paths()
	c.transport()
	c.assemble()
	c.secrets()
	if len(c.dropped) > 0 {
		c.note("left out, since only %s knows it: %s", c.client.Title, strings.Join(c.dropped, ", "))
	}
	c.out.Self = c.isSelf()
	if c.out.Skip == "" {
		c.check()
	}
	return c.out
}

// check validates the result with the reader of servers.json.
func (c *converter) check() {
	data, err := config.AddServer(nil, c.out.Name, c.out.Config)
	if err != nil {
		c.out.Skip = err.Error()
		return
	}
	_, err = config.Parse("", data)
	if report, ok := err.(*config.Report); ok {
		c.out.Skip = report.Mistakes[0].Text
	}
}

// field reads one key. Most settings have several names among clients.
func (c *converter) field(key string, v any) {
	if v == nil {
		return
	}
	g := &c.values
	switch key {
	case "description":
		g.description = text(v)
	case "type", "transport", "transportType", "protocol":
		g.kind = text(v)
	case "command", "cmd":
		c.command(v)
	case "args":
		g.args = append(g.args, c.texts(v)...)
	case "cwd", "workingDirectory", "working_dir":
		g.cwd = c.refs(text(v))
	case "env", "environment", "envs":
		g.env = append(g.env, c.pairs(v)...)
	case "env_vars":
		for _, name := range list(v) {
			if s := text(name); isVarName(s) {
				g.env = append(g.env, config.Field{Key: s, Value: "${" + s + ":-}"})
			} else {
				c.note("env_vars has an entry that is not the name of a variable: write it into env by hand")
			}
		}
	case "envFile", "env_file":
		c.envFile(key, text(v))
	case "url", "serverUrl", "httpUrl", "uri":
		g.url = c.refs(text(v))
		if c.client.dialect.urlIsSSE && g.kind == "" {
			g.kind = map[string]string{"url": "sse", "httpUrl": "http"}[key]
		}
	case "headers", "http_headers":
		g.headers = append(g.headers, c.pairs(v)...)
	case "env_http_headers":
		for _, f := range object(v) {
			g.headers = append(g.headers, config.Field{Key: f.Key, Value: c.need(text(f.Value), "")})
		}
	case "bearer_token_env_var":
		g.headers = append(g.headers, config.Field{Key: "Authorization", Value: "Bearer " + c.need(text(v), "")})
	case "bearer_token", "bearerToken":
		if token := text(v); token != "" {
			g.headers = append(g.headers, config.Field{Key: "Authorization", Value: "Bearer " + c.refs(token)})
		}
	case "quarantined":
		if v == true {
			g.disabled = true
			c.note("it was in quarantine: look at it before you enable it")
		}
	case "disabled":
		g.disabled = g.disabled || v == true
	case "enabled":
		g.disabled = g.disabled || v == false
	default:
		c.rareField(key, v)
	}
}

// rareField reads keys about tools and times, and unknown ones.
func (c *converter) rareField(key string, v any) {
	g := &c.values
	switch key {
	case "tools":
		switch v := v.(type) {
		case []any:
			if !slices.Contains(v, any("*")) {
				g.allow = append(g.allow, patterns(v)...)
			}
		case config.Object:
			g.allow, g.deny = append(g.allow, patterns(v.Get("allow"))...), append(g.deny, patterns(v.Get("deny"))...)
			if v.Get("allow") == nil && v.Get("deny") == nil {
				c.dropped = append(c.dropped, key)
			}
		}
	case "enabled_tools", "includeTools", "enabledTools", "allowedTools":
		g.allow = append(g.allow, patterns(v)...)
	case "disabled_tools", "excludeTools", "disabledTools":
		g.deny = append(g.deny, patterns(v)...)
	case "startTimeout", "startup_timeout_sec":
		g.startTimeout = duration(v, 1)
	case "startup_timeout_ms":
		g.startTimeout = duration(v, 1000)
	case "callTimeout", "tool_timeout_sec":
		g.timeout = duration(v, 1)
	case "timeout":
		c.timeout(v)
	case "keepAlive":
		g.keepAlive = v
	default:
		if c.client.ID == "zed" && key == "settings" {
			g.extension = true
		}
		c.other(key, v)
	}
}

// command reads a program: a word, a list of words, or an object with its parts.
func (c *converter) command(v any) {
	switch v := v.(type) {
	case string:
		c.values.command = c.refs(v)
	case []any:
		words := c.texts(v)
		if len(words) > 0 {
			c.values.command, c.values.args = words[0], append(words[1:], c.values.args...)
		}
	case config.Object:
		c.values.command = c.refs(text(v.Get("path")))
		c.values.args = append(c.values.args, c.texts(v.Get("args"))...)
		c.values.env = append(c.values.env, c.pairs(v.Get("env"))...)
	}
}

// paths makes paths relative to the project's directory absolute, since the broker starts servers
// elsewhere.
func (c *converter) paths() {
	g := &c.values
	if g.cwd != "" && !filepath.IsAbs(g.cwd) && !strings.HasPrefix(g.cwd, "${") {
		g.cwd = filepath.Join(c.dir, g.cwd)
	}
	if g.command == "" || !c.relative || g.cwd != "" {
		return
	}
	if !slices.ContainsFunc(append([]string{g.command}, g.args...), c.isRelativePath) {
		return
	}
	g.cwd = escapeRefs(c.dir)
	c.note("runs in %s, since it has paths that count from there", c.dir)
}

func (c *converter) isRelativePath(s string) bool {
	if s == "." || s == ".." || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, `.\`) || strings.HasPrefix(s, `..\`) {
		return true
	}
	if s == "" || filepath.IsAbs(s) || !filepath.IsLocal(s) || !strings.ContainsAny(s, `/\.`) {
		return false
	}
	_, err := os.Stat(filepath.Join(c.dir, s))
	return err == nil
}

// transport determines the transport of the server.
func (c *converter) transport() {
	g := &c.values
	switch {
	case g.command == "" && g.url == "" && g.extension:
		c.out.Skip = "it is run by an extension of " + c.client.Title + ": find out its command and add it with broker servers add"
	case g.command == "" && g.url == "":
		c.out.Skip = `it has neither "command" nor "url"`
	case g.command != "" && g.url != "":
		c.out.Skip = `it has both "command" and "url"`
	}
	switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(g.kind)) {
	case "", "stdio", "local", "remote":
		g.kind = ""
	case "http", "streamablehttp":
		g.kind = "http"
	case "sse":
		g.kind = "sse"
	default:
		c.out.Skip = fmt.Sprintf("the broker cannot reach servers of type %q, only stdio, http and sse", g.kind)
	}
	if g.command != "" {
		g.kind = ""
		if len(g.oauth) > 0 {
			g.oauth = nil
			c.note("oauth is left out: the broker signs in to servers with a url only")
		}
	}
}

// assemble writes the result in the usual order.
func (c *converter) assemble() {
	g := &c.values
	var o config.Object
	add := func(key string, value any, there bool) {
		if there {
			o = append(o, config.Field{Key: key, Value: value})
		}
	}
	add("description", g.description, g.description != "")
	add("type", g.kind, g.kind != "")
	add("command", g.command, g.command != "")
	add("args", g.args, len(g.args) > 0)
	add("cwd", g.cwd, g.cwd != "")
	add("url", g.url, g.url != "")
	add("env", lastOf(g.env), len(g.env) > 0)
	add("headers", lastOf(g.headers), len(g.headers) > 0)
	var tools config.Object
	if len(g.allow) > 0 {
		tools = append(tools, config.Field{Key: "allow", Value: g.allow})
	}
	if len(g.deny) > 0 {
		tools = append(tools, config.Field{Key: "deny", Value: g.deny})
	}
	add("tools", tools, len(tools) > 0)
	add("startTimeout", g.startTimeout, g.startTimeout != nil)
	add("callTimeout", g.timeout, g.timeout != nil)
	add("keepAlive", g.keepAlive, g.keepAlive != nil)
	add("oauth", lastOf(g.oauth), len(g.oauth) > 0)
	add("disabled", true, g.disabled)
	c.out.Config = append(o, g.unknown...)
}

// isSelf reports whether the entry starts the broker.
func (c *converter) isSelf() bool {
	words := append([]string{c.values.command}, c.values.args...)
	if !slices.Contains(words, "serve") {
		return false
	}
	return slices.ContainsFunc(words, func(w string) bool { return isBroker(w, c.self) })
}

func isBroker(program, self string) bool {
	base := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(program, `\`, "/"))), ".exe")
	return base == "broker" || base == "mcpbroker" || self != "" && program == self
}
