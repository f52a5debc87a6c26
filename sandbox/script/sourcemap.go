package script

import (
	"encoding/base64"
	"encoding/json"
	"path"
	"strings"
)

// A sourceMap is the part of a version 3 source map that is used.
type sourceMap struct {
	Version  int      `json:"version"`
	Sources  []string `json:"sources"`
	Names    []string `json:"names"`
	Mappings string   `json:"mappings"`
}

// sourceMap is the source map of a script that begins one line earlier than
// esbuild's output. The columns of the program's first line do without our head.
func (b built) sourceMap(src *Source) (sourceMap, error) {
	var m sourceMap
	if err := json.Unmarshal(b.smap, &m); err != nil {
		return m, err
	}
	own := -1
	for i, s := range m.Sources {
		if path.Base(s) == src.File && !strings.Contains(s, ":") {
			own = i
			m.Sources[i] = src.File
		}
	}
	m.Names = []string{}
	m.Mappings = ";" + rebase(m.Mappings, own, len(src.before))
	return m, nil
}

// origin is where in a source what stands at a place of the script comes from;
// lines and columns count from 1.
func (m sourceMap) origin(source string, line, column int) (fromLine, fromColumn int, ok bool) {
	remap(m.Mappings, func(at int, s *segment) {
		if at == line-1 && s.column <= column && 0 <= s.source && s.source < len(m.Sources) {
			fromLine, fromColumn, ok = s.line+1, s.sourceColumn, m.Sources[s.source] == source
		}
	})
	return fromLine, fromColumn, ok
}

// comment is the comment that gives goja the source map.
func (m sourceMap) comment() string {
	text, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	return "//# sourceMappingURL=data:application/json;base64," + base64.StdEncoding.EncodeToString(text)
}

// rebase moves what mappings say about the first line of a source by columns to
// the left, and counts all columns from 1: goja asks for those and hands on
// what it finds.
func rebase(mappings string, source, columns int) string {
	return remap(mappings, func(_ int, s *segment) {
		s.column++
		if s.source == source && s.line == 0 {
			s.sourceColumn = max(0, s.sourceColumn-columns)
		}
		s.sourceColumn++
	})
}

// remap changes every segment of mappings; change gets the line of the script,
// from 0, too. The numbers in mappings are differences, so all of them are read
// and written again. Names are dropped.
func remap(mappings string, change func(line int, s *segment)) string {
	var out strings.Builder
	var in, last segment
	line := 0
	rest := vlq{mappings}
	for rest.text != "" {
		switch rest.text[0] {
		case ';':
			line++
			in.column, last.column = 0, 0
			fallthrough
		case ',':
			out.WriteByte(rest.text[0])
			rest.text = rest.text[1:]
			continue
		}
		n := 0
		for rest.text != "" && rest.text[0] != ',' && rest.text[0] != ';' {
			d, ok := rest.next()
			if !ok {
				return mappings // not a source map: its reader will say so
			}
			if n < len(in.fields()) {
				*in.fields()[n] += d
			}
			n++
		}
		moved := in
		change(line, &moved)
		for i, f := range moved.fields()[:min(n, 4)] {
			writeVLQ(&out, *f-*last.fields()[i])
		}
		if n == 1 { // it says nothing about the source
			last.column = moved.column
		} else {
			last = moved
		}
	}
	return out.String()
}

// A segment is one entry of the mappings.
type segment struct {
	column, source, line, sourceColumn int
}

func (s *segment) fields() []*int {
	return []*int{&s.column, &s.source, &s.line, &s.sourceColumn}
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// A vlq reads numbers in base 64 of variable length.
type vlq struct{ text string }

func (v *vlq) next() (int, bool) {
	value := 0
	for shift := 0; v.text != "" && shift < 32; shift += 5 {
		digit := strings.IndexByte(base64Digits, v.text[0])
		if digit < 0 {
			return 0, false
		}
		v.text = v.text[1:]
		value |= digit & 31 << shift
		if digit&32 == 0 {
			if value&1 == 1 {
				return -(value >> 1), true
			}
			return value >> 1, true
		}
	}
	return 0, false
}

func writeVLQ(b *strings.Builder, n int) {
	u := n << 1
	if n < 0 {
		u = -n<<1 | 1
	}
	for {
		digit := u & 31
		if u >>= 5; u > 0 {
			digit |= 32
		}
		b.WriteByte(base64Digits[digit])
		if u == 0 {
			return
		}
	}
}
