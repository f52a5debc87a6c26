package jsrun

import (
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// What is escaped in the parts of a URL, besides control characters and what
// is not ASCII.
const (
	controlSet      = ""
	fragmentSet     = " \"<>`"
	querySet        = " \"#<>"
	specialQuerySet = querySet + "'"
	pathSet         = querySet + "?^`{}"
	userSet         = pathSet + "/:;=@[\\]|"
)

// encoded escapes what is in set.
func encoded(s, set string) *string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c > 0x20 && c < 0x7f && strings.IndexByte(set, c) < 0 || c == ' ' && !strings.Contains(set, " ") {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte("0123456789ABCDEF"[c>>4])
		b.WriteByte("0123456789ABCDEF"[c&15])
	}
	text := b.String()
	return &text
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if u, n := hex4(s[i+1 : i+3]); n == 2 {
				b.WriteByte(byte(u))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// setPath takes a path that begins with a slash, or is empty.
func (u *webURL) setPath(path string) {
	if path == "" && !u.special() {
		u.path = ""
		return
	}
	u.path = u.clean(nil, strings.TrimPrefix(path, "/"))
}

// clean appends a path to segments, without . and ..
func (u *webURL) clean(segments []string, path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		last := i == len(parts)-1
		switch strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(part, "%2e", "."), "%2E", ".")) {
		case "..":
			if n := len(segments); n > 0 && !(u.scheme == "file" && n == 1 && isDrive(segments[0])) {
				segments = segments[:n-1]
			}
		case ".":
		default:
			if u.scheme == "file" && len(segments) == 0 && isDrive(part) {
				part = part[:1] + ":"
			}
			segments = append(segments, *encoded(part, pathSet))
			continue
		}
		if last {
			segments = append(segments, "")
		}
	}
	return "/" + strings.Join(segments, "/")
}

func isDrive(s string) bool {
	return len(s) == 2 && 'a' <= s[0]|0x20 && s[0]|0x20 <= 'z' && (s[1] == ':' || s[1] == '|')
}

// parseRelative reads a URL without a scheme.
func (u *webURL) parseRelative(s string, base *webURL) error {
	u.scheme = base.scheme
	hasQuery := strings.Contains(s, "?")
	s = u.takeQuery(s)
	if u.special() {
		s = strings.ReplaceAll(s, `\`, "/")
	}
	if strings.HasPrefix(s, "//") {
		if u.scheme == "file" {
			return u.parseFile(s)
		}
		return u.parseAuthority(s[2:])
	}
	u.username, u.password, u.host, u.port = base.username, base.password, base.host, base.port
	switch {
	case s == "":
		u.path, u.opaque = base.path, base.opaque
		if !hasQuery {
			u.query = base.query
		}
	case s[0] == '/':
		u.setPath(s)
	default:
		var segments []string
		if i := strings.LastIndexByte(base.path, '/'); i > 0 {
			segments = strings.Split(base.path[1:i], "/")
		}
		u.path = u.clean(segments, s)
	}
	return nil
}

func (u *webURL) hostPort() string {
	if u.host == nil {
		return ""
	}
	if u.port != "" {
		return *u.host + ":" + u.port
	}
	return *u.host
}

func (u *webURL) href() string {
	var b strings.Builder
	b.WriteString(u.scheme + ":")
	switch {
	case u.host != nil:
		b.WriteString("//" + u.username)
		if u.password != "" {
			b.WriteString(":" + u.password)
		}
		if u.username != "" || u.password != "" {
			b.WriteByte('@')
		}
		b.WriteString(u.hostPort())
	case !u.opaque && strings.HasPrefix(u.path, "//"):
		b.WriteString("/.")
	}
	b.WriteString(u.path)
	if u.query != nil {
		b.WriteString("?" + *u.query)
	}
	if u.fragment != nil {
		b.WriteString("#" + *u.fragment)
	}
	return b.String()
}

func (u *webURL) origin() string {
	if u.scheme == "blob" {
		if inner, err := parseURL(u.path, nil); err == nil && (inner.scheme == "http" || inner.scheme == "https") {
			return inner.origin()
		}
	}
	if !u.special() || u.scheme == "file" {
		return "null"
	}
	return u.scheme + "://" + u.hostPort()
}

// with returns u with one part replaced; an error changes nothing.
func (u *webURL) with(part, value string) error {
	if u.opaque && (part == "host" || part == "hostname" || part == "port" || part == "pathname") {
		return nil
	}
	hostless := u.host == nil || *u.host == "" || u.scheme == "file"
	value = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(value)
	switch part {
	case "protocol":
		scheme, _, ok := cutScheme(value + ":")
		_, special := specialPorts[scheme]
		if ok && special == u.special() && !(scheme == "file" && (u.port != "" || u.username != "")) {
			u.scheme = scheme
			return u.setPort(u.port)
		}
	case "username":
		if !hostless {
			u.username = *encoded(value, userSet)
		}
	case "password":
		if !hostless {
			u.password = *encoded(value, userSet)
		}
	case "host", "hostname":
		value, _, _ = strings.Cut(value, "/")
		if part == "host" && u.scheme != "file" && strings.LastIndexByte(value, ':') > strings.LastIndexByte(value, ']') {
			return u.setHostPort(value)
		}
		return u.setHost(value)
	case "port":
		end := 0
		for end < len(value) && isDigit(value[end]) {
			end++
		}
		if !hostless && (end > 0 || value == "") {
			return u.setPort(value[:end])
		}
	case "pathname":
		if u.special() {
			value = strings.ReplaceAll(value, `\`, "/")
		}
		u.setPath("/" + strings.TrimPrefix(value, "/"))
	case "search", "query":
		u.query = nil
		if value = strings.TrimPrefix(value, "?"); value != "" {
			u.setQuery(value)
		}
	case "hash":
		u.fragment = nil
		if value = strings.TrimPrefix(value, "#"); value != "" {
			u.fragment = encoded(value, fragmentSet)
		}
	}
	return nil
}

// urlNatives are the natives of lib/url.js.
func (r *runtime) urlNatives(add func(string, func(goja.FunctionCall) goja.Value)) {
	add("parse", func(c goja.FunctionCall) goja.Value {
		var base *webURL
		var err error
		if b := c.Argument(1); !goja.IsNull(b) {
			if base, err = parseURL(b.String(), nil); err != nil {
				return goja.Null()
			}
		}
		u, err := parseURL(c.Argument(0).String(), base)
		if err != nil {
			return goja.Null()
		}
		if part := c.Argument(2); !goja.IsUndefined(part) {
			if err := u.with(part.String(), c.Argument(3).String()); err != nil {
				return goja.Null()
			}
		}
		return r.urlParts(u)
	})
	add("decode", func(c goja.FunctionCall) goja.Value {
		var pairs []any
		for pair := range strings.SplitSeq(strings.TrimPrefix(c.Argument(0).String(), "?"), "&") {
			if pair != "" {
				name, value, _ := strings.Cut(strings.ReplaceAll(pair, "+", " "), "=")
				pairs = append(pairs, r.vm.NewArray(formText(name), formText(value)))
			}
		}
		return r.vm.NewArray(pairs...)
	})
	add("encode", func(c goja.FunctionCall) goja.Value {
		var b strings.Builder
		r.vm.ForOf(c.Argument(0), func(pair goja.Value) bool {
			if b.Len() > 0 {
				b.WriteByte('&')
			}
			o := pair.(*goja.Object)
			writeForm(&b, o.Get("0").String())
			b.WriteByte('=')
			writeForm(&b, o.Get("1").String())
			return true
		})
		return r.vm.ToValue(b.String())
	})
}

// urlParts is a URL with all the parts that programs ask for.
func (r *runtime) urlParts(u *webURL) goja.Value {
	o := r.vm.NewObject()
	set := func(name, value string) { r.defineValue(o, name, r.vm.ToValue(value)) }
	optional := func(mark string, part *string) string {
		if part == nil || *part == "" {
			return ""
		}
		return mark + *part
	}
	set("href", u.href())
	set("origin", u.origin())
	set("protocol", u.scheme+":")
	set("username", u.username)
	set("password", u.password)
	set("host", u.hostPort())
	set("hostname", optional("", u.host))
	set("port", u.port)
	set("pathname", u.path)
	set("search", optional("?", u.query))
	set("hash", optional("#", u.fragment))
	return o
}

// formText reads application/x-www-form-urlencoded, in which + is a blank.
func formText(s string) string {
	s = unescape(s)
	if !utf8.ValidString(s) {
		return repaired([]byte(s))
	}
	return s
}

func writeForm(b *strings.Builder, s string) {
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ':
			b.WriteByte('+')
		case isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte("*-._", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteString(*encoded(s[i:i+1], "!\"#$%&'()+,/:;<=>?@[\\]^`{|}~"))
		}
	}
}
