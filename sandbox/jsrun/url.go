package jsrun

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A webURL is a URL as browsers have it: always absolute, written in one way
// only.
type webURL struct {
	scheme, username, password string
	host                       *string // nil for none
	port                       string
	path                       string
	opaque                     bool // the path is no hierarchy: mailto:a@b
	query, fragment            *string
}

// specialPorts are the schemes that have a host, with their usual ports.
var specialPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "file": ""}

func (u *webURL) special() bool {
	_, ok := specialPorts[u.scheme]
	return ok
}

// parseURL parses input, relative to base unless that is nil.
func parseURL(input string, base *webURL) (*webURL, error) {
	input = strings.TrimFunc(input, func(r rune) bool { return r <= ' ' })
	input = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(input)
	u := &webURL{}
	rest, fragment, hasFragment := strings.Cut(input, "#")
	if hasFragment {
		u.fragment = encoded(fragment, fragmentSet)
	}
	scheme, after, ok := cutScheme(rest)
	switch {
	case ok && !(base != nil && scheme == base.scheme && u.relativeTo(scheme, after)):
		u.scheme = scheme
		return u, u.parseAbsolute(after)
	case base == nil:
		return nil, fmt.Errorf("%q has no scheme", input)
	case ok:
		rest = after
	}
	if base.opaque && (rest != "" || !hasFragment) {
		return nil, fmt.Errorf("%q cannot be relative to it", input)
	}
	return u, u.parseRelative(rest, base)
}

// relativeTo reports whether a URL of a special scheme without slashes stands
// for a path.
func (u *webURL) relativeTo(scheme, after string) bool {
	_, special := specialPorts[scheme]
	return special && !strings.HasPrefix(after, "/") && !strings.HasPrefix(after, `\`)
}

func cutScheme(s string) (scheme, rest string, ok bool) {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		switch {
		case c == ':' && i > 0:
			return strings.ToLower(s[:i]), s[i+1:], true
		case letter || i > 0 && (isDigit(c) || c == '+' || c == '-' || c == '.'):
		default:
			return "", s, false
		}
	}
	return "", s, false
}

// parseAbsolute reads what stands behind a scheme.
func (u *webURL) parseAbsolute(s string) error {
	s = u.takeQuery(s)
	if u.special() {
		s = strings.ReplaceAll(s, `\`, "/")
	}
	switch {
	case u.scheme == "file":
		return u.parseFile(s)
	case u.special():
		return u.parseAuthority(strings.TrimLeft(s, "/"))
	case strings.HasPrefix(s, "//"):
		return u.parseAuthority(s[2:])
	case strings.HasPrefix(s, "/"):
		u.setPath(s)
	default:
		u.opaque = true
		u.path = *encoded(s, controlSet)
	}
	return nil
}

func (u *webURL) parseFile(s string) error {
	empty := ""
	u.host = &empty
	if rest, ok := strings.CutPrefix(s, "//"); ok {
		host, path, _ := strings.Cut(rest, "/")
		if !(len(host) == 2 && (host[1] == ':' || host[1] == '|')) {
			if err := u.setHost(host); err != nil {
				return err
			}
			if *u.host == "localhost" {
				u.host = &empty
			}
			u.setPath("/" + path)
			return nil
		}
		s = "/" + rest
	}
	u.setPath("/" + strings.TrimPrefix(s, "/"))
	return nil
}

func (u *webURL) takeQuery(s string) string {
	rest, query, ok := strings.Cut(s, "?")
	if ok {
		u.setQuery(query)
	}
	return rest
}

func (u *webURL) setQuery(query string) {
	if u.special() {
		u.query = encoded(query, specialQuerySet)
	} else {
		u.query = encoded(query, querySet)
	}
}

// parseAuthority reads user:password@host:port/path.
func (u *webURL) parseAuthority(s string) error {
	authority, path := s, ""
	if i := strings.IndexByte(s, '/'); i >= 0 {
		authority, path = s[:i], s[i:]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		name, password, _ := strings.Cut(authority[:i], ":")
		u.username, u.password = *encoded(name, userSet), *encoded(password, userSet)
		authority = authority[i+1:]
		if authority == "" {
			return fmt.Errorf("no host")
		}
	}
	if err := u.setHostPort(authority); err != nil {
		return err
	}
	u.setPath(path)
	return nil
}

func (u *webURL) setHostPort(s string) error {
	host, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		host, port = s[:i], s[i+1:]
		if host == "" {
			return fmt.Errorf("no host")
		}
	}
	if err := u.setHost(host); err != nil {
		return err
	}
	return u.setPort(port)
}

func (u *webURL) setPort(port string) error {
	if port == "" {
		u.port = ""
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("no port: %q", port)
	}
	u.port = strconv.FormatUint(n, 10)
	if u.port == specialPorts[u.scheme] {
		u.port = ""
	}
	return nil
}

const forbiddenHost = "\x00\t\n\r #/:<>?@[\\]^|"

func (u *webURL) setHost(host string) error {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !addr.Is6() || addr.Zone() != "" || !strings.HasSuffix(inner, "]") {
			return fmt.Errorf("no address: %q", host)
		}
		text := "[" + addr.String() + "]"
		u.host = &text
		return nil
	}
	if !u.special() {
		if strings.ContainsAny(host, forbiddenHost) {
			return fmt.Errorf("no host: %q", host)
		}
		u.host = encoded(host, controlSet)
		return nil
	}
	ascii, err := asciiHost(unescape(host))
	if err != nil {
		return err
	}
	if ascii == "" && u.scheme != "file" || strings.ContainsAny(ascii, forbiddenHost+"%\x7f") || strings.ContainsFunc(ascii, unicode.IsControl) {
		return fmt.Errorf("no host: %q", host)
	}
	if ascii, err = ipv4(ascii); err != nil {
		return err
	}
	u.host = &ascii
	return nil
}

// asciiHost writes a name in lower case and its labels in ASCII.
func asciiHost(host string) (string, error) {
	if !utf8.ValidString(host) {
		return "", fmt.Errorf("no host: %q", host)
	}
	labels := strings.Split(norm.NFKC.String(strings.ToLower(norm.NFKC.String(host))), ".")
	for i, label := range labels {
		for _, r := range label {
			if r >= utf8.RuneSelf {
				labels[i] = "xn--" + punycode([]rune(label))
				break
			}
		}
	}
	return strings.Join(labels, "."), nil
}

// punycode is RFC 3492.
func punycode(label []rune) string {
	var out strings.Builder
	n, delta, bias := rune(128), 0, 72
	basic := 0
	for _, r := range label {
		if r < utf8.RuneSelf {
			out.WriteRune(r)
			basic++
		}
	}
	done := basic
	if basic > 0 {
		out.WriteByte('-')
	}
	for done < len(label) {
		next := rune(unicode.MaxRune)
		for _, r := range label {
			if r >= n && r < next {
				next = r
			}
		}
		delta += int(next-n) * (done + 1)
		n = next
		for _, r := range label {
			if r < n {
				delta++
			}
			if r != n {
				continue
			}
			q := delta
			for k := 36; ; k += 36 {
				t := min(max(k-bias, 1), 26)
				if q < t {
					break
				}
				out.WriteByte(punyDigit(t + (q-t)%(36-t)))
				q = (q - t) / (36 - t)
			}
			out.WriteByte(punyDigit(q))
			bias = punyBias(delta, done+1, done == basic)
			delta = 0
			done++
		}
		delta++
		n++
	}
	return out.String()
}

func punyDigit(d int) byte {
	return "abcdefghijklmnopqrstuvwxyz0123456789"[d]
}

func punyBias(delta, points int, first bool) int {
	if first {
		delta /= 700
	} else {
		delta /= 2
	}
	delta += delta / points
	k := 0
	for ; delta > 455; k += 36 {
		delta /= 35
	}
	return k + 36*delta/(delta+38)
}

// ipv4 writes a host that is a number, or four, as an address.
func ipv4(host string) (string, error) {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := parts[len(parts)-1]
	if _, ok := ipv4Number(last); !ok || last == "" {
		return host, nil
	}
	if len(parts) > 4 {
		return "", fmt.Errorf("no address: %q", host)
	}
	var address uint64
	for i, part := range parts {
		n, ok := ipv4Number(part)
		limit := uint64(256)
		if i == len(parts)-1 {
			limit = 1 << (8 * (5 - len(parts)))
		}
		if !ok || part == "" || n >= limit {
			return "", fmt.Errorf("no address: %q", host)
		}
		if i == len(parts)-1 {
			address |= n
		} else {
			address |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(address >> 24), byte(address >> 16), byte(address >> 8), byte(address)}).String(), nil
}

func ipv4Number(s string) (uint64, bool) {
	base := 10
	if len(s) > 1 && (s[1] == 'x' || s[1] == 'X') && s[0] == '0' {
		s, base = s[2:], 16
	} else if len(s) > 1 && s[0] == '0' {
		s, base = s[1:], 8
	}
	if s == "" {
		return 0, base == 16
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}
