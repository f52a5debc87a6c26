package jsrun

import (
	"net/url"
	"regexp"
	"strings"
	"sync"

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

// urlParts are the parts of a URL that programs can set; invalid values are ignored.
var urlParts = map[string]struct {
	get func(*whatwg.Url) string
	set func(*whatwg.Url, string)
}{
	"protocol": {(*whatwg.Url).Protocol, (*whatwg.Url).SetProtocol},
	"username": {(*whatwg.Url).Username, (*whatwg.Url).SetUsername},
	"password": {(*whatwg.Url).Password, (*whatwg.Url).SetPassword},
	"host":     {(*whatwg.Url).Host, (*whatwg.Url).SetHost},
	"hostname": {(*whatwg.Url).Hostname, (*whatwg.Url).SetHostname},
	"port":     {(*whatwg.Url).Port, (*whatwg.Url).SetPort},
	"pathname": {(*whatwg.Url).Pathname, (*whatwg.Url).SetPathname},
	"search":   {(*whatwg.Url).Search, (*whatwg.Url).SetSearch},
	"query":    {(*whatwg.Url).Search, (*whatwg.Url).SetSearch}, // for searchParams
	"hash":     {(*whatwg.Url).Hash, (*whatwg.Url).SetHash},
}

// urlOrigin returns the origin of u, or "null".
func urlOrigin(u *whatwg.Url) string {
	if inner, err := whatwg.Parse(u.Pathname()); u.Scheme() == "blob" && err == nil {
		return urlOrigin(inner)
	}
	if !u.IsSpecialScheme() || u.Scheme() == "file" {
		return "null"
	}
	return u.Protocol() + "//" + u.Host()
}

// urlNatives adds the natives of lib/url.js.
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
			urlParts[part.String()].set(u, c.Argument(3).String())
		}
		o := r.vm.NewObject()
		_ = o.Set("href", u.Href(false))
		_ = o.Set("origin", urlOrigin(u))
		for name, part := range urlParts {
			_ = o.Set(name, part.get(u))
		}
		return o
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

// percents matches percent-encoded bytes.
var percents = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:%[0-9a-fA-F]{2})+`) })

// formText decodes application/x-www-form-urlencoded text whose + are blanks already. Percent
// signs without two digits are kept.
func formText(s string) string {
	return repaired([]byte(percents().ReplaceAllStringFunc(s, func(escaped string) string {
		text, _ := url.PathUnescape(escaped) // never fails
		return text
	})))
}

// formEscape is url.QueryEscape except for the two characters that forms encode differently.
func formEscape(s string) string {
	return strings.NewReplacer("%2A", "*", "~", "%7E").Replace(url.QueryEscape(s))
}
