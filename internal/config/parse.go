package config

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

// The keys of the servers in a file: the common one, and that of VS Code.
const (
	serversKey     = "mcpServers"
	serversKeyCode = "servers"
)

// Parse reads a configuration from data; path only names it. For an invalid file it returns a
// *Report with every mistake or, after a syntax error, with that alone.
func Parse(path string, data []byte) (*Config, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	c := newCollector(data)
	c.path = path
	cfg := &Config{Path: path, Name: configName(path)}
	if c.encoding() {
		if v, ok := parseSyntax(c); ok {
			c.root(v, cfg)
		}
	}
	if err := c.report(path); err != nil {
		return nil, err
	}
	for _, n := range c.notes {
		cfg.Notes = append(cfg.Notes, n.at(path))
	}
	return cfg, nil
}

// encoding reports whether the data can be a configuration.
func (c *collector) encoding() bool {
	switch bad := firstInvalidUTF8(c.data); {
	case len(c.data) > maxFileBytes:
		c.fail(0, "the file is larger than %d MiB: not a servers.json", maxFileBytes>>20)
	case bytes.HasPrefix(c.data, []byte("\xff\xfe")), bytes.HasPrefix(c.data, []byte("\xfe\xff")):
		c.fail(0, "the file is UTF-16: save it as UTF-8")
	case bad >= 0:
		c.fail(bad, "the file is not UTF-8 from here on: save it as UTF-8")
	case len(bytes.TrimSpace(c.data)) == 0:
		c.fail(0, emptyFile)
	default:
		return true
	}
	return false
}

func (c *collector) root(v hujson.Value, cfg *Config) {
	if v.Value.Kind() != '{' {
		c.wrongType(v, "the file", `an object with the key "mcpServers"`)
		return
	}
	ignore := func(hujson.Value) {}
	var main, code *hujson.Value
	seen := c.object(v, "the file", schema{
		serversKey:     func(v hujson.Value) { main = &v }, // the servers by name
		serversKeyCode: func(v hujson.Value) { code = &v }, // as VS Code has them; read where `mcpServers` is missing
		// The broker's own settings.
		"broker": func(v hujson.Value) {
			if c.ofProject {
				c.fail(v.StartOffset, `a project cannot set "broker": it is for your own config`)
				return
			}
			c.broker(v, &cfg.Broker)
		},
		"$schema": ignore, // ignored
		"inputs":  ignore, // VS Code's prompts, ignored: `${input:…}` is refused where it is used
	})
	switch {
	case main != nil && code != nil:
		c.note(seen[serversKeyCode], "%q is ignored, since there is %q too", serversKeyCode, serversKey)
		c.servers(*main, cfg)
	case main != nil:
		c.servers(*main, cfg)
	case code != nil:
		c.servers(*code, cfg)
	default:
		c.quotaAt = nil // it would report every quota
		c.fail(v.StartOffset, `the file has no "mcpServers": write {"mcpServers": {"name": {"command": "…"}}}; VS Code's "servers" is read too`)
	}
	c.checkQuotas(cfg)
}

func (c *collector) servers(v hujson.Value, cfg *Config) {
	c.members(v, `"mcpServers"`, func(name string, key, value hujson.Value) {
		if strings.TrimSpace(name) == "" {
			c.fail(key.StartOffset, "a server needs a name that is not blank")
			return
		}
		if strings.Contains(name, "\x1f") { // see discovery.JoinName
			c.fail(key.StartOffset, "the name of server %s contains U+001F, which separates servers and tools: remove it", quote(name))
			return
		}
		s := Server{Name: name}
		before := len(c.mistakes)
		c.server(key, value, &s)
		if wrong := c.mistakes[before:]; c.included && len(wrong) > 0 {
			for i := range wrong {
				wrong[i].Text += ", so this server is left out"
			}
			c.notes, c.mistakes = append(c.notes, wrong...), c.mistakes[:before]
			return
		}
		cfg.Servers = append(cfg.Servers, s)
	})
}

func (c *collector) server(key, v hujson.Value, s *Server) {
	where := "server " + quote(s.Name)
	if v.Value.Kind() != '{' {
		c.wrongType(v, where, `an object with "command" or "url"`)
		return
	}
	of := func(k string) string { return fmt.Sprintf("%q of %s", k, where) }
	var serverURL, httpURL string
	enabled := true
	own := schema{
		"type":      c.serverType(where, &s.Type),
		"env":       c.personalField(c.stringMap(of("env"), &s.Env, checkEnvName)),
		"serverUrl": c.url(of("serverUrl"), &serverURL), // read as `url`
		"httpUrl":   c.url(of("httpUrl"), &httpURL),     // read as `url`
		"headers":   c.personalField(c.stringMap(of("headers"), &s.Headers, checkHeaderName)),
		"oauth":     func(v hujson.Value) { c.oauth(v, where, &s.OAuth) },
		"enabled":   c.boolean(of("enabled"), &enabled), // false means `disabled`; default true
		// tools that may be used, see below; a list means `allow`; default all
		"tools":        c.tools(of, s, &s.Allow, schema{"override": func(v hujson.Value) { c.overrides(v, of, &s.Overrides) }}),
		"keepAlive":    c.keepAlive(of("keepAlive"), s),
		"instructions": c.instructions(of("instructions"), &s.Instructions),
	}
	seen := c.object(v, where, c.settings(s, of, own))
	s.Disabled = s.Disabled || !enabled
	for _, alias := range []struct{ key, url string }{{"serverUrl", serverURL}, {"httpUrl", httpURL}} {
		if off, ok := seen[alias.key]; ok && s.URL == "" {
			s.URL = alias.url
			seen["url"] = off
			c.note(off, "%q of %s is read as \"url\"", alias.key, where)
		}
	}
	c.transport(key, where, s, seen)
}

// transport checks that command, url and type are compatible.
func (c *collector) transport(key hujson.Value, where string, s *Server, seen map[string]int) {
	commandAt, hasCommand := seen["command"]
	urlAt, hasURL := seen["url"]
	switch {
	case hasCommand && hasURL:
		c.fail(max(commandAt, urlAt), `%s has both "command" and "url": keep the one that it is reached by`, where)
	case !hasCommand && !hasURL:
		c.fail(key.StartOffset, `%s needs "command" (a program to start) or "url" (a remote server)`, where)
	case hasCommand && s.Type != "" && s.Type != "stdio":
		c.fail(seen["type"], `%s has a "command", so its type is "stdio": fix the type, or give it a "url" instead`, where)
	case hasURL && s.Type == "stdio":
		c.fail(seen["type"], `%s has a "url", so its type is "http" or "sse": fix the type, or give it a "command" instead`, where)
	}
	if hasCommand {
		s.Type = "stdio"
	}
	if at, ok := seen["oauth"]; ok {
		c.oauthFits(at, where, s, hasCommand)
	}
	c.credentials(key.StartOffset, where, s, seen)
}

// serverType reads the transport of a server; "http" has several names.
func (c *collector) serverType(where string, to *string) field {
	return func(v hujson.Value) {
		var s string
		c.text(fmt.Sprintf(`"type" of %s`, where), &s)(v)
		switch s {
		case "streamable-http", "streamableHttp", "streamable_http", "streamablehttp":
			*to = "http"
		case "stdio", "http", "sse":
			*to = s
		default:
			if v.Value.Kind() == '"' {
				c.fail(v.StartOffset, `unknown type %s of %s%s`, quote(s), where,
					hintWords(s, []string{"stdio", "http", "sse"}, "streamable-http"))
			}
		}
	}
}

// command reads the name of a program.
func (c *collector) command(where string, to *string) field {
	return func(v hujson.Value) {
		if v.Value.Kind() == '[' { // as in some clients
			c.fail(v.StartOffset, `%s must be one string: put the other words into "args"`, where)
			return
		}
		c.refText(where, to)(v)
		if lit, ok := v.Value.(hujson.Literal); ok && strings.TrimSpace(lit.String()) == "" {
			c.fail(v.StartOffset, "%s is empty: name the program to start", where)
		}
	}
}

// tools reads the tools of the server or profile that owner points to; a list has those of allow.
func (c *collector) tools(of func(string) string, owner any, allow *[]string, own schema) field {
	return func(v hujson.Value) {
		if v.Value.Kind() == '[' { // as in some clients
			c.list(of("tools"), allow, c.pattern)(v)
			return
		}
		c.object(v, of("tools"), c.part(owner, "tools.", of, own))
	}
}

// pattern reads a pattern of tool names.
func (c *collector) pattern(where string, to *string) field {
	return func(v hujson.Value) {
		c.text(where, to)(v)
		if _, err := path.Match(*to, ""); err != nil {
			c.fail(v.StartOffset, "%s: %s is not a valid pattern: * matches any text, ? one character, [ab] one of these", where, quote(*to))
		}
	}
}

// maxInstructions bounds the instructions that models read of one server.
const maxInstructions = 4000

// instructions reads true, false, a number of characters, or a text.
func (c *collector) instructions(where string, to *Instructions) field {
	return func(v hujson.Value) {
		switch v.Value.Kind() {
		case 't', 'f':
			to.Off = v.Value.Kind() == 'f'
		case '0':
			c.count(where, &to.MaxChars, maxInstructions)(v)
		case '"':
			c.text(where, &to.Text)(v)
			switch n := utf8.RuneCountInString(to.Text); {
			case strings.TrimSpace(to.Text) == "":
				c.fail(v.StartOffset, "%s is empty: write false to show nothing", where)
			case n > maxInstructions:
				c.fail(v.StartOffset, "%s has %d characters: write at most %d", where, n, maxInstructions)
			}
		default:
			c.wrongType(v, where, "false, a number of characters, or a text")
		}
	}
}

// keepAlive reads true, false, or the time for which the server may be idle.
func (c *collector) keepAlive(where string, s *Server) field {
	return func(v hujson.Value) {
		if k := v.Value.Kind(); k == '"' || k == '0' {
			c.duration(where, &s.IdleTimeout)(v)
			return
		}
		if k := v.Value.Kind(); k != 't' && k != 'f' {
			c.wrongType(v, where, `true, false, or how long it may be idle, such as "10m"`)
			return
		}
		s.KeepAlive = v.Value.Kind() == 't'
	}
}

// stringMap reads an object of strings whose names check accepts.
func (c *collector) stringMap(where string, to *map[string]string, check func(string) string) field {
	return func(v hujson.Value) {
		c.members(v, where, func(name string, key, value hujson.Value) {
			if problem := check(name); problem != "" {
				c.fail(key.StartOffset, "%s: %s", where, problem)
				return
			}
			if value.Value.Kind() == 'n' {
				return
			}
			var s string
			c.refText(fmt.Sprintf("%s in %s", quote(name), where), &s)(value)
			if *to == nil {
				*to = map[string]string{}
			}
			(*to)[name] = s
		})
	}
}

func checkEnvName(name string) string {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return quote(name) + ` is not a valid variable name: it must not be empty or contain "="`
	}
	return ""
}

func checkHeaderName(name string) string {
	for _, r := range name {
		if r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) {
			return quote(name) + " is not a valid header name"
		}
	}
	if name == "" {
		return "a header needs a name"
	}
	return ""
}

// url reads an http or https address. Messages never contain it, since it may contain a key.
func (c *collector) url(where string, to *string) field {
	return func(v hujson.Value) {
		if v.Value.Kind() != '"' {
			c.wrongType(v, where, "a string")
			return
		}
		before := len(c.mistakes) + c.more
		c.refText(where, to)(v)
		if len(c.mistakes)+c.more > before || strings.Contains(*to, "${") {
			return
		}
		u, err := url.Parse(*to)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			c.fail(v.StartOffset, `%s is not a valid URL: write "https://host/path"`, where)
			return
		}
		c.host(v, where, u)
	}
}

// host checks the host of an address. The message omits the address, which may contain
// a key.
func (c *collector) host(v hujson.Value, where string, u *url.URL) {
	if r, odd := outbound.OddInHost(u); odd {
		c.fail(v.StartOffset, `the host in %s has the character %q, which is not allowed in a name: type the host's name in ASCII`, where, r)
	}
}
