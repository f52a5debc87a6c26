package learned

import (
	"bytes"
	"strings"
	"time"
)

// formats is a set of string formats, named as in JSON Schema (2020-12 validation, section 7.3).
type formats uint8

const (
	formatDateTime formats = 1 << iota
	formatDate
	formatURI
	formatEmail
	formatUUID
)

var formatNames = []struct {
	f    formats
	name string
}{{formatDateTime, "date-time"}, {formatDate, "date"}, {formatURI, "uri"}, {formatEmail, "email"}, {formatUUID, "uuid"}}

// name returns the name of the format in the set, or "".
func (f formats) name() string {
	for _, n := range formatNames {
		if f&n.f != 0 {
			return n.name
		}
	}
	return ""
}

// formatsOf returns the formats that a string has.
func formatsOf(s []byte) formats {
	if len(s) < 6 || len(s) > 2000 {
		return 0
	}
	switch {
	case len(s) == 10 && s[4] == '-' && s[7] == '-':
		if _, err := time.Parse(time.DateOnly, string(s)); err == nil {
			return formatDate
		}
	case len(s) >= 20 && s[4] == '-' && s[7] == '-' && (s[10] == 'T' || s[10] == 't'):
		if _, err := time.Parse(time.RFC3339Nano, strings.ToUpper(string(s))); err == nil {
			return formatDateTime
		}
	}
	if len(s) == 36 && isUUID(s) {
		return formatUUID
	}
	if bytes.ContainsAny(s, " \\\"<>") {
		return 0
	}
	if scheme, rest, ok := bytes.Cut(s, []byte("://")); ok && len(rest) > 0 && isScheme(scheme) {
		return formatURI
	}
	if local, domain, ok := bytes.Cut(s, []byte("@")); ok && len(local) > 0 && bytes.IndexByte(domain, '.') > 0 && bytes.IndexByte(domain, '@') < 0 {
		return formatEmail
	}
	return 0
}

func isUUID(s []byte) bool {
	for i, c := range s {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return false
			}
		}
	}
	return true
}

func isScheme(s []byte) bool {
	if len(s) == 0 || len(s) > 20 {
		return false
	}
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.')) {
			return false
		}
	}
	return true
}
