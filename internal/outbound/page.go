package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"unicode"
)

// Page checks the address of a page that others want a person to open, and returns its host. It
// refuses addresses that browsers show or read differently than people: with names before the
// host, hosts that are not ASCII, blanks and control characters, schemes other than http and
// https.
func Page(address string) (host string, err error) {
	if strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }) {
		return "", errors.New("its address has characters that no address has")
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return "", errors.New("only pages at http and https are opened")
	case u.User != nil:
		return "", errors.New("its address has a name in front of the host")
	case strings.ContainsAny(u.Hostname(), "%@") || strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r > '~' }):
		return "", errors.New("its host is not a name") // already unescaped
	}
	return u.Host, nil
}

// CheckHost refuses an address whose host contains characters that are not allowed in a name, such
// as a full-width slash: programs and people could read another host than the connected one.
func CheckHost(u *url.URL) error {
	if r, odd := OddInHost(u); odd {
		return fmt.Errorf("the host %q has the character %q, which is not allowed in a name", u.Hostname(), r)
	}
	return nil
}

// OddInHost returns the first character of the host of u that is not allowed in a name; ok is
// false if there is none.
func OddInHost(u *url.URL) (rune, bool) {
	host := u.Hostname()
	if net.ParseIP(host) != nil || strings.Contains(host, ":") { // only an IPv6 address has a colon
		return 0, false
	}
	for _, r := range host {
		if r > '~' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\u00b7' && r != '\u30fb' || strings.ContainsRune(" %@/\\?#", r) {
			return r, true
		}
	}
	return 0, false
}
