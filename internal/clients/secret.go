package clients

import (
	"net/url"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// secretWords are parts of the names of secrets, in lower case.
var secretWords = []string{"token", "key", "secret", "password", "passwd", "credential", "authorization", "cookie", "bearer"}

func namesSecret(name string) bool {
	name = strings.ToLower(name)
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	switch name {
	case "auth", "pat", "pwd", "pass":
		return true
	}
	return strings.HasSuffix(name, "_pat") || strings.HasSuffix(name, "_pwd") || strings.HasSuffix(name, "_pass")
}

// isSecret reports whether a value under this name is a literal secret.
func (c *converter) isSecret(name, value string) bool {
	if value == "" || strings.Contains(value, "${") || strings.HasPrefix(value, "op://") || strings.HasPrefix(value, "command://") {
		return false
	}
	switch strings.ToLower(value) {
	case "true", "false", "0", "1", "none":
		return false
	}
	return namesSecret(name) || c.looksSecret != nil && c.looksSecret(value)
}

// secrets reports the secrets in the entry. Messages never contain them.
func (c *converter) secrets() {
	note := func(where, variable, instead string) {
		c.out.Secret = true
		c.note("%s is a secret that is now in servers.json: write %q there and set %s in the broker's environment", where, instead, variable)
	}
	o := c.out.Config
	if env, ok := o.Get("env").(config.Object); ok {
		for i, f := range env {
			if value, _ := f.Value.(string); c.isSecret(f.Key, value) {
				if c.keyring {
					env[i].Value = c.storeSecret(f.Key, value)
					continue
				}
				note("env."+f.Key, varName(f.Key), "${"+varName(f.Key)+"}")
			}
		}
	}
	if headers, ok := o.Get("headers").(config.Object); ok {
		for i, f := range headers {
			value, _ := f.Value.(string)
			if !c.isSecret(f.Key, value) {
				continue
			}
			variable, scheme := varName(c.out.Name+"_token"), ""
			if word, _, ok := strings.Cut(value, " "); ok {
				scheme = word + " "
			}
			if c.keyring {
				headers[i].Value = scheme + c.storeSecret(f.Key, strings.TrimPrefix(value, scheme))
				continue
			}
			note("headers."+f.Key, variable, scheme+"${"+variable+"}")
		}
	}
	if o, ok := o.Get("oauth").(config.Object); ok {
		for i, f := range o {
			if value, _ := f.Value.(string); f.Key == "clientSecret" && c.isSecret(f.Key, value) {
				if c.keyring {
					o[i].Value = c.storeSecret(f.Key, value)
					continue
				}
				variable := varName(c.out.Name + "_client_secret")
				note("oauth.clientSecret", variable, "${"+variable+"}")
			}
		}
	}
	variable := varName(c.out.Name + "_token")
	if args, ok := o.Get("args").([]string); ok {
		for i, arg := range args {
			flag, value, hasValue := strings.Cut(arg, "=")
			switch {
			case hasValue && strings.HasPrefix(flag, "-") && c.isSecret(flag, value):
				note("the argument "+flag, variable, flag+"=${"+variable+"}")
			case i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.HasPrefix(arg, "-") && !strings.Contains(args[i-1], "=") && c.isSecret(args[i-1], arg),
				!hasValue && c.isSecret("", arg):
				note("an argument", variable, "${"+variable+"}")
			}
		}
	}
	if s, _ := o.Get("url").(string); s != "" && c.secretURL(s) {
		note("a part of the url", variable, "${"+variable+"}")
	}
}

// storeSecret moves a secret to the keyring, and returns the reference to it.
func (c *converter) storeSecret(where, value string) string {
	name := c.out.Name + "/" + where
	if c.out.Secrets == nil {
		c.out.Secrets = make(map[string]string)
	}
	c.out.Secrets[name] = value
	c.note("%s goes into the keyring, as %q", where, name)
	return "${keyring:" + name + "}"
}

func (c *converter) secretURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	for name, values := range u.Query() {
		for _, v := range values {
			if c.isSecret(name, v) {
				return true
			}
		}
	}
	password, _ := u.User.Password()
	return password != "" && !strings.Contains(password, "${") || c.isSecret("", s)
}

// SecretNotes returns advice on how to keep the literal secrets of an entry out of the file.
func (o *Options) SecretNotes(name string, entry config.Object) []string {
	c := converter{looksSecret: orZero(o).LooksSecret, out: Entry{Name: name, Config: entry}}
	c.secrets()
	return c.out.Notes
}
