// Package entries reads and edits JSON texts of the form {KIND: {ID: {MEMBER: value}}}, in which
// several writers keep members of their own.
package entries

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// Read returns the entries of a kind by id. A text without content has none.
func Read(text []byte, kind string) (map[string]json.RawMessage, error) {
	file, err := Object(text)
	if err != nil {
		return nil, err
	}
	group, err := Object(file[kind])
	if err != nil {
		return nil, fmt.Errorf("%q: %w", kind, err)
	}
	return group, nil
}

// Edit returns the text after edit has changed the members of one entry. It keeps all others, and
// removes an entry without members.
func Edit(text []byte, kind, id string, edit func(members map[string]json.RawMessage)) ([]byte, error) {
	file, err := Object(text)
	if err != nil {
		return nil, err
	}
	group, err := Object(file[kind])
	if err != nil {
		return nil, fmt.Errorf("%q: %w", kind, err)
	}
	entry, err := Object(group[id])
	if err != nil {
		return nil, fmt.Errorf("%q: %q: %w", kind, id, err)
	}
	edit(entry)
	if len(entry) == 0 {
		delete(group, id)
	} else {
		group[id], _ = json.Marshal(entry)
	}
	file[kind], _ = json.Marshal(group)
	after, err := json.MarshalIndent(file, "", "  ")
	return append(after, '\n'), err
}

// Object returns the members of a JSON object. No text and null are empty objects.
func Object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if len(bytes.TrimSpace(raw)) > 0 {
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, jsonscan.Explain(err)
		}
	}
	if m == nil {
		m = map[string]json.RawMessage{}
	}
	return m, nil
}
