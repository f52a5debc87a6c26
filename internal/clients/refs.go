package clients

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A dialect defines a client's syntax of references to variables, and its meaning of keys that
// differ between clients.
type dialect struct {
	dollar bool // ${…} is a reference
	bare   bool // $NAME is a reference
	braces bool // {env:NAME} is a reference
	// urlIsSSE means that "url" is for SSE and "httpUrl" for the rest.
	urlIsSSE bool
	// timeout is the key of servers.json for the client's "timeout", and unit the
	// number of its units in a second; zero means a guess from the number. A number
	// above most is in milliseconds, since the client does not allow more.
	timeout    string
	unit, most float64
}

var (
	plainDialect    = dialect{timeout: "callTimeout"}
	zedDialect      = dialect{timeout: "callTimeout", unit: 1, most: 600}
	claudeDialect   = dialect{dollar: true, timeout: "callTimeout", unit: 1000}
	editorDialect   = dialect{dollar: true, timeout: "callTimeout"}
	codexDialect    = dialect{timeout: "callTimeout"}
	geminiDialect   = dialect{dollar: true, bare: true, urlIsSSE: true, timeout: "callTimeout", unit: 1000}
	opencodeDialect = dialect{braces: true, timeout: "startTimeout", unit: 1000}
	clineDialect    = dialect{dollar: true, timeout: "callTimeout", unit: 1, most: 3600}
	kiroDialect     = dialect{dollar: true, timeout: "callTimeout", unit: 1000}
	anyDialect      = dialect{dollar: true, timeout: "callTimeout"}
)

// refs rewrites the references in s to those of servers.json. It escapes text that only the broker
// would treat as a reference.
func (c *converter) refs(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		rest := s[i:]
		end := strings.IndexByte(rest, '}')
		switch {
		case strings.HasPrefix(rest, "$${") && c.client.dialect.dollar:
			// The broker's escape for "${", which may occur here.
			b.WriteString("$${")
			i += 3
		case strings.HasPrefix(rest, "${"):
			if end < 0 {
				b.WriteString("$${")
				i += 2
				continue
			}
			b.WriteString(c.reference(rest[2:end]))
			i += end + 1
		case c.client.dialect.braces && end > 0 && strings.HasPrefix(rest, "{env:") && isVarName(rest[5:end]):
			b.WriteString(c.optional(rest[5:end]))
			i += end + 1
		case c.client.dialect.braces && end > 0 && strings.HasPrefix(rest, "{file:"):
			c.note("%s is not read by the broker: put the content into a variable and write ${VAR}", rest[:end+1])
			b.WriteString(rest[:end+1])
			i += end + 1
		case c.client.dialect.bare && rest[0] == '$' && varPrefix(rest[1:]) > 0:
			n := 1 + varPrefix(rest[1:])
			b.WriteString(c.need(rest[1:n], ""))
			i += n
		default:
			b.WriteByte(rest[0])
			i++
		}
	}
	return b.String()
}

// reference rewrites the text between "${" and "}".
func (c *converter) reference(body string) string {
	if !c.client.dialect.dollar {
		c.note("${%s} is kept as plain text, since %s does not replace it; take one $ away for the variable's value", body, c.client.Title)
		return "$${" + body + "}"
	}
	if id, ok := strings.CutPrefix(body, "input:"); ok {
		return c.input(id)
	}
	switch body {
	case "workspaceFolder", "workspaceRoot":
		return "${workspaceFolder}"
	case "workspaceFolderBasename":
		return "${workspaceFolderBasename}"
	case "userHome":
		return escapeRefs(c.env.Home)
	case "pathSeparator", "/":
		return string(filepath.Separator)
	}
	if c.client.ID == "file" && strings.HasPrefix(body, "keyring:") {
		return "${" + body + "}" // the file is one of the broker's own kind
	}
	name, fallback, hasFallback := strings.Cut(strings.TrimPrefix(body, "env:"), ":-")
	if isVarName(name) {
		if hasFallback {
			return c.need(name, ":-"+fallback)
		}
		return c.need(name, "")
	}
	c.note("${%s} is kept as plain text, since the broker only knows ${VAR} and ${VAR:-text}: put in what it stood for", body)
	return "$${" + body + "}"
}

// input replaces an input that a client asks its user for by a variable.
func (c *converter) input(id string) string {
	name := varName(id)
	text := fmt.Sprintf("set %s in the broker's environment (was input %s)", name, id)
	if d := c.inputs[id]; d != "" {
		text = fmt.Sprintf("set %s in the broker's environment (was input %s: %s)", name, id, d)
	}
	c.note("%s", text)
	return c.need(name, "")
}

// optional is like need, for a client that uses an empty value if the variable is not set.
func (c *converter) optional(name string) string {
	if c.env.Getenv != nil && c.env.Getenv(name) == "" {
		c.note("%s is not set here, so it is empty as it was for %s", name, c.client.Title)
		return c.need(name, ":-")
	}
	return c.need(name, "")
}

// need records that the variable must be set, unless there is a fallback, and returns the
// reference to it.
func (c *converter) need(name, fallback string) string {
	if fallback == "" && !slices.Contains(c.out.Needs, name) {
		c.out.Needs = append(c.out.Needs, name)
	}
	return "${" + name + fallback + "}"
}

// escapeRefs escapes references in a text.
func escapeRefs(s string) string { return strings.ReplaceAll(s, "${", "$${") }

func isVarName(s string) bool { return s != "" && varPrefix(s) == len(s) }

// varPrefix returns the length of the variable name at the beginning of s.
func varPrefix(s string) int {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}

// varName returns a variable name for any text.
func varName(s string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && varPrefix("_"+string(r)) == 2 {
			return r
		}
		return '_'
	}, strings.ToUpper(s))
	if !isVarName(name) {
		name = "_" + name
	}
	return name
}
