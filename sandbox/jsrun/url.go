package jsrun

import (
	"net/url"
	"strings"

	"github.com/dop251/goja"
	whatwg "github.com/nlnwa/whatwg-url/url"
)

// parseURL parses input as browsers do, relative to base unless that is empty.
func parseURL(input, base string) (*whatwg.Url, error) {
	if base == "" {
		return whatwg.Parse(input)
	}
	return whatwg.ParseRef(base, input)
}

// setURLPart replaces one part of u; what cannot be one changes nothing.
func setURLPart(u *whatwg.Url, part, value string) {
	switch part {
	case "protocol":
		u.SetProtocol(value)
	case "username":
		u.SetUsername(value)
	case "password":
		u.SetPassword(value)
	case "host":
		u.SetHost(value)
	case "hostname":
		u.SetHostname(value)
	case "port":
		u.SetPort(value)
	case "pathname":
		u.SetPathname(value)
	case "search", "query":
		u.SetSearch(value)
	case "hash":
		u.SetHash(value)
	}
}

// urlOrigin is the origin of u; "null" for one that has none.
func urlOrigin(u *whatwg.Url) string {
	if u.Scheme() == "blob" {
		if inner, err := whatwg.Parse(u.Pathname()); err == nil && (inner.Scheme() == "http" || inner.Scheme() == "https") {
			return urlOrigin(inner)
		}
	}
	if !u.IsSpecialScheme() || u.Scheme() == "file" {
		return "null"
	}
	return u.Protocol() + "//" + u.Host()
}

// urlNatives are the natives of lib/url.js.
func (r *runtime) urlNatives(add func(string, func(goja.FunctionCall) goja.Value)) {
	add("parse", func(c goja.FunctionCall) goja.Value {
		base := ""
		if b := c.Argument(1); !goja.IsNull(b) {
			if base = b.String(); base == "" {
				return goja.Null()
			}
		}
		u, err := parseURL(c.Argument(0).String(), base)
		if err != nil {
			return goja.Null()
		}
		if part := c.Argument(2); !goja.IsUndefined(part) {
			setURLPart(u, part.String(), c.Argument(3).String())
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
			b.WriteString(formEscape(o.Get("0").String()) + "=" + formEscape(o.Get("1").String()))
			return true
		})
		return r.vm.ToValue(b.String())
	})
}

// urlParts is a URL with all the parts that programs ask for.
func (r *runtime) urlParts(u *whatwg.Url) goja.Value {
	o := r.vm.NewObject()
	for name, value := range map[string]string{
		"href": u.Href(false), "origin": urlOrigin(u), "protocol": u.Protocol(), "username": u.Username(), "password": u.Password(),
		"host": u.Host(), "hostname": u.Hostname(), "port": u.Port(), "pathname": u.Pathname(), "search": u.Search(), "hash": u.Hash(),
	} {
		r.defineValue(o, name, r.vm.ToValue(value))
	}
	return o
}

// formText reads application/x-www-form-urlencoded, in which + is a blank
// already. Percent signs without two digits stay as they are.
func formText(s string) string {
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
	return repaired([]byte(b.String()))
}

// formEscape is url.QueryEscape but for the two characters that forms write
// otherwise than Go.
func formEscape(s string) string {
	return strings.NewReplacer("%2A", "*", "~", "%7E").Replace(url.QueryEscape(s))
}
