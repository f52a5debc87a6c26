package results

import (
	"encoding/json"
	"errors"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// Results are scanned in place: a decoder would copy many megabytes for each step of a path. They
// were valid JSON when they were stored.

var errBroken = errors.New("the stored result is no longer valid JSON")

// elements calls f with the elements of an array, which are parts of v, until it returns false.
func elements(v json.RawMessage, f func(json.RawMessage) bool) error {
	if !jsonscan.Elements(v, f) {
		return errBroken
	}
	return nil
}

// members calls f with the keys and values of an object, which are parts of v, until it returns
// false.
func members(v json.RawMessage, f func(key string, value json.RawMessage) bool) error {
	return countedMembers(v, func(key string, value json.RawMessage, _ int) bool { return f(key, value) })
}

// countedMembers is like members, and passes the number of items of a value that is an
// array or object.
func countedMembers(v json.RawMessage, f func(key string, value json.RawMessage, items int) bool) error {
	s := jsonscan.New(v)
	for s.Enter('{'); s.More('}'); {
		key := s.Key()
		value, items := s.SkipCount()
		if s.Broken() {
			return errBroken
		}
		if !f(string(jsonscan.Unquote(key)), value, items) {
			return nil
		}
	}
	if !s.End() {
		return errBroken
	}
	return nil
}
