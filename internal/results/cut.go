package results

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A Gap describes what Cut left out of a value.
type Gap struct {
	// Missing is the number of items of an array, keys of an object, or characters of a
	// text, as named by Unit, that are left out. All is their number in the full value.
	Missing, All int64
	Unit         string
	// Part leads to the missing part, or to the value that contains it.
	Part Part
}

// minShare is the smallest size to which a long value is cut.
const minShare = 240

// maxCutDepth is the depth up to which values are cut.
const maxCutDepth = 4

// Cut returns a value in at most limit characters of JSON. It keeps the first and last
// items of an array, the keys of an object with short values and parts of long ones,
// and whole lines of a text. mark returns the text for a gap: an item, the value of the
// key "…", or a part of the text. ok is false if the limit is too small.
func Cut(value json.RawMessage, limit int, mark func(Gap) string) (cut json.RawMessage, ok bool) {
	c := cutter{mark}
	cut, ok = c.value(value, limit, nil)
	return cut, ok && utf8.RuneCount(cut) <= limit
}

type cutter struct{ mark func(Gap) string }

func (c cutter) value(v json.RawMessage, limit int, path []string) (cut json.RawMessage, ok bool) {
	if utf8.RuneCount(v) <= limit {
		return v, true
	}
	kind := first(v)
	switch {
	case len(path) == maxCutDepth:
	case kind == '[':
		cut, ok = c.array(v, limit, path)
	case kind == '{':
		cut, ok = c.object(v, limit, path)
	}
	if ok {
		return cut, true
	}
	if kind != '"' { // cut the JSON as a text
		v = gate.Compact(string(v))
	}
	return c.text(v, limit, path)
}

// array keeps items from both ends.
func (c cutter) array(v json.RawMessage, limit int, path []string) (json.RawMessage, bool) {
	note := func(from, to, n int) json.RawMessage {
		return gate.Compact(c.mark(Gap{int64(to - from), int64(n), "items", Part{Path: join(path), Offset: from, Limit: to - from}}))
	}
	room := limit - len("[,,]") - utf8.RuneCount(note(1<<30, 1<<31, 1<<31))
	headRoom := room * 2 / 3
	var head, tail []json.RawMessage
	var firstItem json.RawMessage
	headChars, tailChars, n, full := 0, 0, 0, false
	err := elements(v, func(e json.RawMessage) bool {
		size := utf8.RuneCount(e) + 1
		if n++; n == 1 {
			firstItem = e
		}
		if full = full || headChars+size > headRoom; !full {
			head, headChars = append(head, e), headChars+size
			return true
		}
		tail, tailChars = append(tail, e), tailChars+size
		for len(tail) > 0 && tailChars > room-headChars {
			tailChars -= utf8.RuneCount(tail[0]) + 1
			tail = tail[1:]
		}
		return true
	})
	if err != nil || room <= 0 {
		return nil, false
	}
	if len(head) == 0 { // the first item is long
		if n == 1 {
			room, tail = limit-len("[]"), nil
		}
		if tailChars > room-minShare {
			tail, tailChars = nil, 0
		}
		part, ok := c.value(firstItem, room-tailChars, append(slices.Clone(path), "0"))
		if !ok {
			return nil, false
		}
		head = []json.RawMessage{part}
	}
	if gap := n - len(head) - len(tail); gap > 0 {
		head = append(head, note(len(head), len(head)+gap, n))
	}
	return bracket('[', slices.Concat(head, tail), ']'), true
}

// A member is a key of an object with its value.
type member struct {
	key   json.RawMessage // including the colon
	name  string
	value json.RawMessage
	size  int // in characters, including a comma
}

// object keeps all keys and cuts long values if a part of each fits; otherwise it keeps
// as many keys as fit, with a small part of each value.
func (c cutter) object(v json.RawMessage, limit int, path []string) (json.RawMessage, bool) {
	var list []member
	n := 0
	err := members(v, func(name string, value json.RawMessage) bool {
		if n++; len(list) < limit { // no more fit
			key := append(json.RawMessage(gate.Compact(name)), ':')
			list = append(list, member{key, name, value, utf8.RuneCount(key) + utf8.RuneCount(value) + 1})
		}
		return true
	})
	if err != nil {
		return nil, false
	}
	room := limit - len("{}")
	share := fairShare(list, room)
	if n == len(list) && share >= minShare {
		return c.parts(list, share, path)
	}
	note := func(missing int) json.RawMessage {
		text := gate.Compact(c.mark(Gap{int64(missing), int64(n), "keys", Part{Path: join(path)}}))
		return slices.Concat(gate.Compact("…"), json.RawMessage(":"), text)
	}
	room -= utf8.RuneCount(note(n)) + 1
	var kept []json.RawMessage
	for _, m := range list {
		value := m.value
		if m.size > minShare {
			if room < minShare {
				continue
			}
			var ok bool
			if value, ok = c.value(value, minShare-utf8.RuneCount(m.key)-1, append(slices.Clone(path), m.name)); !ok {
				continue
			}
		}
		if size := utf8.RuneCount(m.key) + utf8.RuneCount(value) + 1; size <= room {
			room -= size
			kept = append(kept, slices.Concat(m.key, value))
		}
	}
	if room < 0 {
		return nil, false
	}
	return bracket('{', append(kept, note(n-len(kept))), '}'), true
}

// parts keeps every key, and up to share characters of each value.
func (c cutter) parts(list []member, share int, path []string) (json.RawMessage, bool) {
	var kept []json.RawMessage
	for _, m := range list {
		value := m.value
		if m.size > share {
			var ok bool
			if value, ok = c.value(m.value, share-utf8.RuneCount(m.key)-1, append(slices.Clone(path), m.name)); !ok {
				return nil, false
			}
		}
		kept = append(kept, slices.Concat(m.key, value))
	}
	return bracket('{', kept, '}'), true
}

// fairShare returns the number of characters for each long member if the short ones are
// complete.
func fairShare(list []member, room int) int {
	sizes := make([]int, len(list))
	for i, m := range list {
		sizes[i] = m.size
	}
	slices.Sort(sizes)
	for i, size := range sizes {
		share := room / (len(sizes) - i)
		if size > share {
			return share
		}
		room -= size
	}
	return room
}

// text keeps whole lines from both ends of a string.
func (c cutter) text(v json.RawMessage, limit int, path []string) (json.RawMessage, bool) {
	var s string
	if json.Unmarshal(v, &s) != nil {
		return nil, false
	}
	for n := limit; n >= 20; n = n * 9 / 10 { // escapes make the text longer
		head, tail, missing := Ends(s, n)
		quoted := gate.Compact(head + c.mark(Gap{missing, int64(utf8.RuneCountInString(s)), "characters", Part{Path: join(path)}}) + tail)
		if utf8.RuneCount(quoted) <= limit {
			return quoted, true
		}
	}
	return nil, false
}

// Ends returns at most n characters from the beginning and the end of a text, in whole
// lines as by WholeLines, and the number of missing characters.
func Ends(s string, n int) (head, tail string, missing int64) {
	head = s[:offsetOf(s, n*2/3)]
	end := len(s)
	for left := n - n*2/3; left > 0 && end > len(head); left-- {
		_, size := utf8.DecodeLastRuneInString(s[:end])
		end -= size
	}
	head, tail = WholeLines(head, s[end:])
	return head, tail, int64(utf8.RuneCountInString(s[len(head) : len(s)-len(tail)]))
}

// maxWord is the length of the longest word that is not cut.
const maxWord = 200

// WholeLines removes the broken line from the end of head, and from the beginning of
// tail except for its line break. If that is half of the text or more, it removes only
// the broken word: half an address or half a secret is not recognized as one.
func WholeLines(head, tail string) (string, string) {
	if i := strings.LastIndexByte(head, '\n'); i >= len(head)/2 {
		head = head[:i+1]
	} else if i := strings.LastIndexAny(head, " \t\n"); i >= max(len(head)/2, len(head)-maxWord) {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i:]
	} else if i := strings.IndexAny(tail, " \t\n"); i >= 0 && i < min(len(tail)/2, maxWord) {
		tail = tail[i:]
	}
	return head, tail
}

// offsetOf returns the offset of character n of a text.
func offsetOf(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

func bracket(open byte, parts []json.RawMessage, end byte) json.RawMessage {
	b := json.RawMessage{open}
	for i, p := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, p...)
	}
	return append(b, end)
}

// join returns a path in the form that parsePath parses.
func join(steps []string) string {
	var b strings.Builder
	for _, s := range steps {
		if _, err := strconv.Atoi(s); err == nil {
			b.WriteString("[" + s + "]")
			continue
		}
		if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !isPlain(r) }) {
			return pointer(steps)
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s)
	}
	return b.String()
}

func isPlain(r rune) bool {
	return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}

// pointer returns a path as a JSON Pointer (RFC 6901).
func pointer(steps []string) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(s))
	}
	return b.String()
}
