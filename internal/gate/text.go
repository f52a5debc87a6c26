package gate

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Text is a text that may be shown to a model: it is clean, since only this package creates one.
type Text struct{ s string }

// NewText returns Clean(s) as a Text.
func NewText(s string) Text { return Text{Clean(s)} }

// Encode returns v as JSON on one line, with every string cleaned.
func Encode(v any) Text { return Text{string(JSON(Compact(v)))} }

// EncodeRaw returns value, which is JSON, with every string cleaned.
func EncodeRaw(value json.RawMessage) Text { return Text{string(JSON(value))} }

// String returns the text.
func (t Text) String() string { return t.s }

// Cut is like the function Cut.
func (t Text) Cut(n int) Text { return Text{Cut(t.s, n)} }

// Compact returns v as JSON on one line, without the escapes for HTML, which would cost a model
// tokens.
func Compact(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// v has a type of this module; raw messages in it were checked when they were received.
		return json.RawMessage(strconv.Quote(err.Error()))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Quote returns the first n characters of a foreign text, for use after the broker's words. Lines
// after the first are indented, so that none looks like the broker's.
func Quote(s string, n int) string {
	return strings.ReplaceAll(Cut(strings.TrimSpace(Clean(s)), n), "\n", "\n  ")
}

// maxName bounds a foreign name in a sentence, in characters.
const maxName = 60

// Name returns a foreign name for a sentence: quoted if it could be mistaken for the broker's
// words, and cut if it is long.
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

// Names returns the names of a list, each as from Name.
func Names(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Name(s)
	}
	return out
}
