package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxNested is how many times a text that is JSON itself, as tools answer, is
// looked into.
const maxNested = 3

// maxKey is how many bytes of a key, and of a number, are kept.
const maxKey = 120

// JSON hides the secrets in data, leaf by leaf, and leaves out what is beyond
// limit bytes, with a note in its place; limit is at least 4 KiB. It returns valid
// JSON, or nil if data is empty; text that is not JSON becomes a string.
func JSON(data []byte, limit int) []byte {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	// The last token and the note have to fit too.
	budget := limit - 1<<10
	p := &printer{budget: budget, size: len(data)}
	if err := p.print(data); err != nil {
		p = &printer{budget: budget, nested: maxNested}
		p.leaf(string(data), false)
	}
	return p.out.Bytes()
}

// A printer copies JSON token by token. Key order and the digits of numbers
// survive.
type printer struct {
	out    bytes.Buffer
	budget int
	size   int
	nested int // how deep this text stands in texts
	levels []level
}

// A level is an object or array that is being copied.
type level struct {
	array  bool
	n      int    // tokens in it so far
	key    string // the last key of an object
	secret bool   // all in it is a secret
}

var errTooDeep = errors.New("nested too deep")

func (p *printer) print(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err == io.EOF && len(p.levels) == 0 && p.out.Len() > 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if delim, ok := t.(json.Delim); ok && (delim == '}' || delim == ']') {
			p.out.WriteByte(byte(delim))
			p.levels = p.levels[:len(p.levels)-1]
			continue
		}
		if p.out.Len() > 0 && len(p.levels) == 0 {
			return errors.New("more than one value")
		}
		if p.out.Len() >= p.budget {
			p.close()
			return nil
		}
		if err := p.token(t); err != nil {
			return err
		}
	}
}

// token copies anything but a closing bracket.
func (p *printer) token(t json.Token) error {
	var top *level
	secret := false
	if n := len(p.levels); n > 0 {
		top = &p.levels[n-1]
		isKey := !top.array && top.n%2 == 0
		switch {
		case !top.array && !isKey:
			p.out.WriteByte(':')
		case top.n > 0:
			p.out.WriteByte(',')
		}
		top.n++
		if isKey {
			top.key, _ = t.(string)
			// Keys are names, but a map may have a secret as its key.
			p.string(Cut(top.key, maxKey))
			return nil
		}
		secret = top.secret || (!top.array && isSecretKey(top.key))
	}
	switch t := t.(type) {
	case json.Delim:
		if len(p.levels) >= 10_000/(p.nested+1) {
			return errTooDeep
		}
		p.budget-- // for its closing bracket
		p.out.WriteByte(byte(t))
		p.levels = append(p.levels, level{array: t == '[', secret: secret})
	case string:
		p.leaf(t, secret)
	case json.Number:
		if secret && !isCount(top.key) {
			p.string(Hidden)
		} else {
			p.number(t.String())
		}
	case bool:
		fmt.Fprintf(&p.out, "%t", t)
	case nil:
		p.out.WriteString("null")
	}
	return nil
}

// isCount reports whether a number under this key is not secret: tokens are
// counted more often than they are numbers.
func isCount(key string) bool {
	return strings.Contains(strings.ToLower(key), "token")
}

// leaf copies a string without its secrets.
func (p *printer) leaf(s string, secret bool) {
	if secret {
		if s != "" {
			s = Hidden
		}
		p.string(s)
		return
	}
	room := max(p.budget-p.out.Len(), 0)
	if trimmed := strings.TrimSpace(s); p.nested < maxNested && trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') {
		// Quoting makes it longer, at most by half for what is common.
		inner := &printer{budget: room * 2 / 3, size: len(s), nested: p.nested + 1}
		if inner.budget > 0 && inner.print([]byte(s)) == nil {
			if q := quoted(inner.out.String()); len(q) <= room+256 {
				p.out.Write(q)
				return
			}
		}
	}
	text := Cut(s, room)
	if len(text) < len(s) && len(s) > room {
		text += fmt.Sprintf("… [cut: %d bytes]", len(s))
	}
	// Escapes may make a text up to six times as long.
	for q := quoted(text); ; q = quoted(text) {
		if len(q) <= room+128 || len(text) == 0 {
			p.out.Write(q)
			return
		}
		text = cut(text, len(text)/2)
	}
}

func (p *printer) number(digits string) {
	if len(digits) > maxKey {
		p.string(digits[:maxKey] + "… [cut]")
		return
	}
	p.out.WriteString(digits)
}

func (p *printer) string(s string) { p.out.Write(quoted(s)) }

// isPlain reports whether s needs no escapes: nearly all keys and values do not.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// quoted is s as JSON, "<" and "&" as they are.
func quoted(s string) []byte {
	if isPlain(s) {
		return []byte(`"` + s + `"`)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string and a buffer cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// close ends what is open, with a note that something is missing.
func (p *printer) close() {
	note := fmt.Sprintf("[cut: %d bytes in all]", p.size)
	if n := len(p.levels); n > 0 {
		switch top := p.levels[n-1]; {
		case top.array && top.n > 0:
			p.out.WriteByte(',')
			p.string(note)
		case top.array:
			p.string(note)
		case top.n%2 == 1: // after a key
			p.out.WriteByte(':')
			p.string(note)
		default:
			if top.n > 0 {
				p.out.WriteByte(',')
			}
			p.out.WriteString(`"…":`)
			p.string(note)
		}
	}
	for i := len(p.levels) - 1; i >= 0; i-- {
		if p.levels[i].array {
			p.out.WriteByte(']')
		} else {
			p.out.WriteByte('}')
		}
	}
	p.levels = nil
}
