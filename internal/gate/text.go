package gate

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Text is what may be shown to a model: only this package makes one, and what
// it has made is clean.
type Text struct{ s string }

// NewText is Clean as a Text.
func NewText(s string) Text { return Text{Clean(s)} }

// Encode is v as JSON on one line, with every string in it clean.
func Encode(v any) Text { return Text{string(JSON(Compact(v)))} }

// EncodeRaw is JSON as it came, with every string in it clean.
func EncodeRaw(value json.RawMessage) Text { return Text{string(JSON(value))} }

// String returns the text.
func (t Text) String() string { return t.s }

// Cut is the function Cut.
func (t Text) Cut(n int) Text { return Text{Cut(t.s, n)} }

// Compact is v as JSON on one line, without the escapes that only HTML needs:
// they would cost a model characters.
func Compact(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Only values of our own types come here; raw messages in them were
		// checked when they were received.
		return json.RawMessage(strconv.Quote(err.Error()))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Quote returns what somebody else says, for a sentence of ours before it: the
// first n characters, and where it has more lines than one, the others are
// indented, so that none of them looks like a line of ours.
func Quote(s string, n int) string {
	return strings.ReplaceAll(Cut(strings.TrimSpace(Clean(s)), n), "\n", "\n  ")
}

// maxName is how many characters of somebody else's name a sentence of ours has.
const maxName = 60

// Name returns a name that somebody else gave, for a sentence of ours: one that
// could be mistaken for words of ours is in quotes, and a long one is cut.
func Name(s string) string {
	if isName(s) {
		return s
	}
	return string(Compact(Cut(Spelt(s), maxName)))
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("_$-./:[]@", c) >= 0 || c >= 0x80
		if !letter {
			return false
		}
	}
	return s != "" && utf8.RuneCountInString(s) <= maxName && !Hides(s)
}

// Names are those of a list, each as Name has it.
func Names(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Name(s)
	}
	return out
}
