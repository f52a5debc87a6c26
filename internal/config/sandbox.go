package config

import (
	"net"
	"slices"
	"strconv"

	"github.com/tailscale/hujson"
)

// sandbox reads where programs run and what they may use.
func (c *collector) sandbox(of func(string) string, s *Sandbox) field {
	within := func(key string) string { return of("sandbox." + key) }
	return func(v hujson.Value) {
		seen := c.object(v, of("sandbox"), c.settings(s, within, schema{
			"languages": c.isolations(within("languages"), &s.Languages),
			"remote":    c.remote(of, &s.Remote),
			"docker":    c.docker(of, &s.Docker),
		}))
		places := []string{s.IsolationOf("typescript"), s.IsolationOf("javascript")}
		if s.Runner == "node" && !s.PerCall && !slices.Contains(places, "container") {
			c.note(seen["runner"], `"runner" is for containers, and no language that it runs is in one: set "isolation" or "languages" to "container", or "perCall"`)
		}
		if s.Remote != nil && !slices.Contains(places, "worker") && !s.PerCall {
			c.note(seen["remote"], `"remote" has no effect: it is for isolation "worker", and no language runs in it`)
		}
		if slices.Contains(s.Require, "container") && !slices.Contains(places, "container") && !s.PerCall {
			c.fail(seen["require"], `"require" names "container", and scripts run in %q: set "isolation" to "container"`, places[0])
		}
	}
}

// remote reads the addresses of sandboxd.
func (c *collector) remote(of func(string) string, to **RemoteSandbox) field {
	return func(v hujson.Value) {
		r := new(RemoteSandbox)
		seen := c.object(v, of("sandbox.remote"), c.settings(r, func(key string) string { return of("sandbox.remote." + key) }, nil))

		for _, key := range []string{"addresses", "ca", "cert", "key"} {
			if _, ok := seen[key]; !ok {
				c.fail(v.StartOffset, "%s has no %q: write \"addresses\", and the files \"ca\", \"cert\" and \"key\"", of("sandbox.remote"), key)
			}
		}
		*to = r
	}
}

// docker reads the address of the container engine.
func (c *collector) docker(of func(string) string, to **DockerEngine) field {
	return func(v hujson.Value) {
		d := new(DockerEngine)
		seen := c.object(v, of("sandbox.docker"), c.settings(d, func(key string) string { return of("sandbox.docker." + key) }, nil))

		if _, ok := seen["host"]; !ok {
			c.fail(v.StartOffset, `%s has no "host", such as "tcp://10.0.0.5:2376"`, of("sandbox.docker"))
		}
		if given := d.CA != "" || d.Cert != "" || d.Key != ""; given && (d.CA == "" || d.Cert == "" || d.Key == "") {
			c.fail(v.StartOffset, `%s needs "ca", "cert" and "key" together: files by which the engine and the broker know each other`, of("sandbox.docker"))
		}
		*to = d
	}
}

// hostPort reads an address with a port.
func (c *collector) hostPort(where string, to *string) field {
	return func(v hujson.Value) {
		c.text(where, to)(v)
		host, port, err := net.SplitHostPort(*to)
		if _, e := strconv.ParseUint(port, 10, 16); v.Value.Kind() == '"' && (err != nil || e != nil || host == "") {
			c.fail(v.StartOffset, `%s: %s is not an address with a port: write "sandboxd.example:9443"`, where, quote(*to))
		}
	}
}

// isolations reads an isolation for each language. An unknown language is a mistake, since its
// containment would be weaker than intended.
func (c *collector) isolations(where string, to *map[string]string) field {
	languages := []string{"typescript", "javascript", "python"}
	return func(v hujson.Value) {
		*to = map[string]string{}
		c.members(v, where, func(name string, key, value hujson.Value) {
			isolation := ""
			c.choice("isolation", &isolation, "worker", "container")(value)
			switch {
			case !slices.Contains(languages, name):
				c.fail(key.StartOffset, "unknown language %s in %s%s", quote(name), where, hintWords(name, languages))
			case name == "python" && isolation == "worker":
				c.fail(value.StartOffset, `%s: python runs in containers only: write "container", or leave it out`, where)
			default:
				(*to)[name] = isolation
			}
		})
	}
}

// layer reads the name of a layer of the sandbox.
func (c *collector) layer(_ string, to *string) field {
	return c.choice("sandbox layer", to, "seccomp", "landlock", "memory", "container")
}
