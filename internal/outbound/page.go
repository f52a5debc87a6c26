package outbound

import (
	"errors"
	"net/url"
	"strings"
)

// Page checks the address of a page that somebody else wants a person to open,
// and returns the host that it is on. Refused is whatever a browser shows, or
// takes, for another address than a person reads: names in front of the host,
// hosts that are not ASCII, blanks and control characters, schemes other than
// http and https.
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
	case strings.ContainsAny(u.Hostname(), "%@"):
		return "", errors.New("its host is not a name")
	}
	return u.Host, nil
}
