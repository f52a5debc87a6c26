package daemon

import "github.com/mcpbroker/mcpbroker/internal/jsonscan"

// A head contains the members of a message that a bridge needs.
type head struct {
	id      string // as in the message, or ""
	method  string // raw, with its quotes; "" in an answer
	control bool   // a line of the daemon for the bridge
}

func (h head) request() bool  { return h.id != "" && h.method != "" }
func (h head) response() bool { return h.id != "" && h.method == "" }

// scan reads the members "id" and "method" of a JSON object without decoding the rest.
// It returns nothing for another line, such as a batch.
func scan(line []byte) (h head) {
	s := jsonscan.New(line)
	for s.Enter('{'); s.More('}'); {
		key := string(s.Key())
		if h.id != "" && (h.method != "" || key == `"result"` || key == `"error"`) { // an answer has no method
			return h
		}
		switch value := s.Skip(); {
		case s.Broken():
			return h
		case key == `"id"` && string(value) != "null":
			h.id = string(value)
		case key == `"method"`:
			h.method = string(value)
		case key == `"broker"`:
			h.control = true
		}
	}
	return h
}
