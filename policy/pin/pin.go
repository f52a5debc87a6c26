// Package pin compares a tool with its approved definition: it computes a digest of a definition,
// and the differences between two definitions, the most important first.
package pin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Fields are the parts of a tool that a pin covers; changes of _meta and icons are insignificant.
var Fields = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}

// A State compares a tool with its pin.
type State string

// The states.
const (
	Same    State = "same"
	Changed State = "changed"
	New     State = "new"  // no pin
	Gone    State = "gone" // no tool
)

// Compare returns the change of a tool; an empty definition or null means no tool.
func Compare(before, after json.RawMessage) (State, error) {
	switch {
	case missing(before) && missing(after):
		return "", fmt.Errorf("there is no tool, neither before nor after")
	case missing(before):
		return New, nil
	case missing(after):
		return Gone, nil
	}
	a, err := Digest(before)
	if err != nil {
		return "", fmt.Errorf("before: %w", err)
	}
	b, err := Digest(after)
	if err != nil {
		return "", fmt.Errorf("after: %w", err)
	}
	if a != b {
		return Changed, nil
	}
	return Same, nil
}

func missing(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// Digest returns the SHA-256 of the fields of a tool as canonical JSON. The order of keys and the
// spelling of numbers make no difference; every character of a string does.
func Digest(definition json.RawMessage) (string, error) {
	c, err := Canonical(definition)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(c)
	return hex.EncodeToString(sum[:]), nil
}

// Canonical returns the fields of a tool as canonical JSON (RFC 8785).
func Canonical(definition json.RawMessage) ([]byte, error) {
	v, err := parse(definition)
	if err != nil {
		return nil, err
	}
	o, ok := v.(object)
	if !ok {
		return nil, fmt.Errorf("the definition of a tool is not an object")
	}
	var kept object
	for _, m := range o {
		for _, f := range Fields {
			if m.key == f && m.value != nil {
				kept = append(kept, m)
			}
		}
	}
	return appendValue(nil, kept)
}
