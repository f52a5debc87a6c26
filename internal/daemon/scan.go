package daemon

import "bytes"

// A head is what a bridge needs to know of a message: who it belongs to.
type head struct {
	id      string // as in the message, or ""
	method  string // raw, with its quotes; "" in an answer
	control bool   // a line of the daemon for the bridge
}

func (h head) request() bool  { return h.id != "" && h.method != "" }
func (h head) response() bool { return h.id != "" && h.method == "" }

// scan reads the members "id" and "method" of a JSON object without decoding the rest.
// It returns nothing for another line, such as a batch.
func scan(line []byte) head {
	var h head
	s := scanner{text: bytes.TrimSpace(line)}
	if !s.take('{') {
		return h
	}
	for {
		s.space()
		key, ok := s.str()
		if !ok {
			return h
		}
		s.space()
		if !s.take(':') {
			return h
		}
		s.space()
		start := s.at
		if !s.value() {
			return h
		}
		value := string(bytes.TrimSpace(s.text[start:s.at]))
		switch string(key) {
		case `"id"`:
			if value != "null" {
				h.id = value
			}
		case `"method"`:
			h.method = value
		case `"broker"`:
			h.control = true
		case `"result"`, `"error"`:
			if h.id != "" { // an answer has no method
				return h
			}
		}
		if h.id != "" && h.method != "" {
			return h
		}
		s.space()
		if !s.take(',') {
			return h
		}
	}
}

// A scanner steps over JSON. It does not check it.
type scanner struct {
	text []byte
	at   int
}

func (s *scanner) space() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t' || s.text[s.at] == '\r' || s.text[s.at] == '\n') {
		s.at++
	}
}

func (s *scanner) take(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// str steps over a string and returns it with its quotes.
func (s *scanner) str() ([]byte, bool) {
	start := s.at
	if !s.take('"') {
		return nil, false
	}
	for s.at < len(s.text) {
		i := bytes.IndexAny(s.text[s.at:], `"\`)
		if i < 0 {
			return nil, false
		}
		s.at += i + 1
		if s.text[s.at-1] == '"' {
			return s.text[start:s.at], true
		}
		s.at++ // what is escaped
	}
	return nil, false
}

// value steps over any value.
func (s *scanner) value() bool {
	depth := 0
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '"':
			if _, ok := s.str(); !ok {
				return false
			}
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			if depth == 0 {
				return true // the end of the object around a bare value
			}
			depth--
			s.at++
		case ',':
			if depth == 0 {
				return true
			}
			s.at++
		default:
			s.at++
		}
		if depth == 0 && s.at < len(s.text) && (s.text[s.at-1] == '"' || s.text[s.at-1] == '}' || s.text[s.at-1] == ']') {
			return true
		}
	}
	return depth == 0
}
