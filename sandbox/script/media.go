package script

import (
	"encoding/json"
	"slices"
	"strings"
)

// Media defines the replacement of an image, a sound or a file in an answer.
type Media struct {
	// Fields are the fields of the replacement. Other are fields of other blocks of an answer,
	// which a program may read from every block.
	Fields []string `json:"fields"`
	Other  []string `json:"other"`
	// Bytes are the names under which programs look for the data, Message follows such a name in
	// the error, and Hint is the hint.
	Bytes   []string `json:"bytes"`
	Message string   `json:"message"`
	Hint    string   `json:"hint"`
}

// MediaTexts are the texts for programs in JavaScript.
var MediaTexts = Media{
	Fields:  []string{"type", "mimeType", "uri", "size", "ref"},
	Other:   []string{"text", "name", "title", "description", "annotations", "_meta"},
	Bytes:   []string{"data", "blob", "resource", "base64", "b64", "bytes", "buffer", "arrayBuffer", "source", "body", "content", "image", "b64_json"},
	Message: " is undefined: an image, a sound or a file is { type, mimeType, size, ref } in a script",
	Hint:    "await results.get(ref, { encoding: 'base64' }) with its ref returns the bytes as base64; to show an image to the model, return the object itself",
}

// PythonMediaJSON returns the texts for programs in Python.
func PythonMediaJSON() string {
	m := MediaTexts
	m.Hint = "an image, a sound or a file is a dict with type, mimeType, size and ref: await results.get(x['ref'], encoding='base64') returns the bytes as base64; " +
		"to show an image to the model, return the dict itself"
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings cannot fail
	}
	return string(text)
}

// IsBytes reports whether programs look for the data under that name.
func (m *Media) IsBytes(name string) bool { return slices.Contains(m.Bytes, name) }

// ReadsBytes reports whether the program may look for the data of an image.
func (t *Tree) ReadsBytes() bool {
	return slices.ContainsFunc(MediaTexts.Bytes, func(name string) bool { return strings.Contains(t.Text, name) })
}
