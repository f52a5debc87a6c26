package clients

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// brokerKeys are keys of servers.json that no client uses. They are kept if the file is a
// servers.json.
var brokerKeys = []string{"direct", "credentials", "inFlight", "maxConcurrent", "instances", "learn", "instructions"}

// byProgram are keys for credentials that come neither from a sign-in nor from a literal header.
var byProgram = map[string]string{
	"headersHelper":        "the broker does not run a program for all headers: for one header write \"Authorization\": \"command://PROGRAM\" into \"headers\", where PROGRAM prints its value alone",
	"authProviderType":     "the broker does not get tokens of Google: write a header with a program that prints one, such as \"Authorization\": \"Bearer ${TOKEN}\" or \"command://PROGRAM\"",
	"targetAudience":       "it belongs to authProviderType",
	"targetServiceAccount": "it belongs to authProviderType",
	"oauth_resource":       "the broker asks for tokens for the address of the server",
	"xaa":                  "the broker signs in by itself: broker auth login NAME",
}

// other translates or reports a key that most clients do not have.
func (c *converter) other(key string, v any) {
	g := &c.values
	known := c.client.ID == "file" && slices.Contains(brokerKeys, key)
	switch {
	case key == "auth" && object(v).Get("CLIENT_ID") != nil:
		g.oauth = append(g.oauth, c.oauth(key, v)...)
	case key == "oauth":
		g.oauth = append(g.oauth, c.oauth(key, v)...)
	case (key == "scopes" || key == "scope") && c.client.ID != "file":
		g.oauth = append(g.oauth, c.scopes(v)...)
	case byProgram[key] != "":
		c.note("%s is left out: %s", key, byProgram[key])
	case key == "tcp":
		c.out.Skip = "the broker cannot reach servers by WebSocket (\"tcp\"), only by stdio, http and sse"
	case known:
		g.unknown = append(g.unknown, config.Field{Key: key, Value: v})
	case slices.Contains(clientOnly, key):
		c.dropped = append(c.dropped, key)
	case c.client.ID == "file":
		c.note("%s is not known to the broker, and kept as it is written", key)
		g.unknown = append(g.unknown, config.Field{Key: key, Value: v})
	default:
		c.note("%s is left out: the broker does not know it", key)
	}
}

// oauth returns the keys of a sign-in in the format of servers.json.
func (c *converter) oauth(key string, v any) config.Object {
	o, ok := v.(config.Object)
	if !ok {
		if v == false {
			c.note("%s: false is left out: the broker signs in to a server only when you run broker auth login", key)
		} else if v != true {
			c.note("%s is left out: it is not an object", key)
		}
		return nil
	}
	var out config.Object
	for _, f := range o {
		switch f.Key {
		case "clientId", "client_id", "CLIENT_ID":
			out = append(out, config.Field{Key: "clientId", Value: c.refs(text(f.Value))})
		case "clientSecret", "client_secret", "CLIENT_SECRET":
			out = append(out, config.Field{Key: "clientSecret", Value: c.refs(text(f.Value))})
		case "scopes", "scope":
			out = append(out, c.scopes(f.Value)...)
		case "issuer", "tokenEndpoint", "audience":
			out = append(out, config.Field{Key: f.Key, Value: c.refs(text(f.Value))})
		case "callbackPort", "clientMetadataUrl":
			out = append(out, f)
		case "redirect_uri", "redirectUri":
			out = append(out, c.redirect(text(f.Value))...)
		case "enabled":
			if f.Value == false {
				c.note("%s.enabled: false is left out: the broker signs in to a server only when you run broker auth login", key)
			}
		default:
			c.note("%s.%s is left out: the broker reads the metadata of the server and of its issuer", key, f.Key)
		}
	}
	return out
}

// scopes returns a list of scopes from a list or a space-separated text.
func (c *converter) scopes(v any) config.Object {
	var scopes []any
	for _, s := range list(v) {
		for word := range strings.FieldsSeq(c.refs(text(s))) {
			scopes = append(scopes, word)
		}
	}
	if len(scopes) == 0 {
		return nil
	}
	return config.Object{{Key: "scopes", Value: scopes}}
}

// redirect returns the callback port of a redirect address.
func (c *converter) redirect(address string) config.Object {
	u, err := url.Parse(address)
	if err == nil {
		if port, err := strconv.Atoi(u.Port()); err == nil && (u.Hostname() == "127.0.0.1" || u.Hostname() == "localhost") {
			if u.Hostname() != "127.0.0.1" || u.Path != "/callback" {
				c.note("oauth: callbackPort is %d: register http://127.0.0.1:%d/callback in place of %q", port, port, address)
			}
			return config.Object{{Key: "callbackPort", Value: port}}
		}
	}
	c.note("oauth: register http://127.0.0.1:PORT/callback in place of %q, and set \"callbackPort\" to that port", address)
	return nil
}

// timeout translates a timeout. Clients use different units and defaults; timeout
// reports a guess.
func (c *converter) timeout(v any) {
	d := c.client.dialect
	to := &c.values.timeout
	if d.timeout == "startTimeout" {
		to = &c.values.startTimeout
	}
	if *to != nil {
		return
	}
	n, err := strconv.ParseFloat(text(v), 64)
	unit, guessed := d.unit, d.unit == 0 && err == nil
	if guessed {
		if unit = 1; n >= 1000 {
			unit = 1000
		}
	}
	if d.most > 0 && err == nil && n > d.most { // above the client's limit, so the file uses milliseconds
		unit, guessed = 1000, true
	}
	*to = duration(v, max(unit, 1))
	if *to == nil {
		c.note("timeout %s is left out: it is not a duration", text(v))
	} else if guessed {
		c.note("timeout %s was read as %v s, for %s does not say how it counts: correct %q if that is wrong", text(v), *to, c.client.Title, d.timeout)
	}
}

// envFile reports the variables in a file that the broker does not read.
func (c *converter) envFile(key, path string) {
	at := strings.NewReplacer("${workspaceFolder}", c.dir, "${userHome}", c.env.Home).Replace(path)
	if rest, ok := strings.CutPrefix(at, "~/"); ok {
		at = filepath.Join(c.env.Home, rest)
	}
	if !filepath.IsAbs(at) {
		at = filepath.Join(c.dir, at)
	}
	instead := "what it sets into \"env\", as ${VAR}"
	if names := variablesIn(at); len(names) > 0 {
		var lines []string
		for _, n := range names {
			lines = append(lines, strconv.Quote(n)+": \"${"+n+"}\"")
		}
		instead = "\"env\": {" + strings.Join(lines, ", ") + "}"
	}
	c.note("%s %q is not read by the broker: write %s, and set it where the broker starts", key, path, instead)
}

// variablesIn returns at most 30 names of variables that a file sets.
func variablesIn(path string) (names []string) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		name, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if name = strings.TrimSpace(name); ok && isVarName(name) && !slices.Contains(names, name) && len(names) < 30 {
			names = append(names, name)
		}
	}
	return names
}

// home replaces the home directory as a shell would, since the broker starts programs
// without one. The script of a configured shell is not changed.
func (c *converter) home() {
	g := &c.values
	written := false
	expand := func(s string) string {
		for _, begin := range []string{"~/", "$HOME/", `~\`} {
			if rest, ok := strings.CutPrefix(s, begin); ok {
				written = true
				return filepath.Join(escapeRefs(c.env.Home), rest)
			}
		}
		if s == "~" || s == "$HOME" {
			written = true
			return escapeRefs(c.env.Home)
		}
		return s
	}
	g.command, g.cwd = expand(g.command), expand(g.cwd)
	shell := slices.Contains([]string{"sh", "bash", "zsh", "dash", "fish"}, filepath.Base(g.command))
	for i, a := range g.args {
		if shell {
			break
		}
		option, value, ok := strings.Cut(a, "=")
		if g.args[i] = expand(a); ok && strings.HasPrefix(option, "-") {
			g.args[i] = option + "=" + expand(value)
		}
	}
	for i, f := range g.env {
		if s, ok := f.Value.(string); ok {
			parts := strings.Split(s, ":")
			for j := range parts {
				parts[j] = expand(parts[j])
			}
			g.env[i].Value = strings.Join(parts, ":")
		}
	}
	if written {
		c.note("~ and $HOME are written out as %s, since the broker starts programs without a shell", c.env.Home)
	}
	c.plainDollars(shell)
}

// plainDollars reports references that only a shell would replace.
func (c *converter) plainDollars(shell bool) {
	texts := []string{c.values.command, c.values.cwd}
	if !shell {
		texts = append(texts, c.values.args...)
	}
	for _, f := range c.values.env {
		texts = append(texts, text(f.Value))
	}
	for _, s := range texts {
		if name, ok := strings.CutPrefix(s, "$"); ok && isVarName(name) {
			c.note("%s is kept as plain text: write ${%s} for the variable", s, name)
		}
	}
}
