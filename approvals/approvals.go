// Package approvals keeps what a person has approved: a thing in one state, identified by a
// digest. A thing with another digest is not approved.
package approvals

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/entries"
	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// A Kind is a kind of things that a person approves.
type Kind string

// The kinds of approvals, which are keys of the text of a Store.
const (
	Plugin  Kind = "plugins"  // the servers of a plugin may start; the subject is its name
	Project Kind = "projects" // the servers of a project may start; the subject is the path of its file
	Script  Kind = "skills"   // the scripts of a skill may run on this host; the subject is the skill's id
)

// An Approval is the approval of one thing in one state.
type Approval struct {
	Kind    Kind   `json:"-"`
	Subject string `json:"-"`
	// Digest identifies the state of the subject; it is empty if nothing was approved.
	Digest string `json:"digest"`
	// Servers and Env are the scope: the servers that may start, and the variables of the
	// environment that they may read.
	Servers []string `json:"servers,omitzero"`
	Env     []string `json:"env,omitzero"`
	// By is the principal, and At the time; approvals of older versions may have neither.
	By string    `json:"by,omitempty"`
	At time.Time `json:"at,omitzero"`
}

// Covers reports whether the approval is one of the state with this digest.
func (a Approval) Covers(digest string) bool { return digest != "" && a.Digest == digest }

// A Text is the place of the text of a Store, which may hold other data too. It is safe for
// concurrent use.
type Text interface {
	// Read returns the text, or nothing.
	Read() ([]byte, error)
	// Edit replaces the text by the result of edit. Edits of several processes take turns.
	Edit(edit func(text []byte) ([]byte, error)) error
	// String describes the place.
	String() string
}

// A Store keeps approvals. The zero Store has none and keeps none.
type Store struct{ text Text }

// In returns the store of a text.
func In(text Text) Store { return Store{text} }

// The members of an entry that hold its approval. Without a scope, member is the digest alone, which
// brokers of older versions read too, and details is the whole approval.
const (
	member  = "approved"
	details = "approval"
)

// Get returns the approval of a subject. Its Digest is empty if the subject is not approved.
func (s Store) Get(kind Kind, subject string) (Approval, error) {
	none := Approval{Kind: kind, Subject: subject}
	all, err := s.read(kind)
	if err != nil {
		return none, err
	}
	a, err := decode(none, all[subject])
	if err != nil {
		return none, fmt.Errorf("read the approval of %.200q in %s: %w", subject, s.text, err)
	}
	return a, nil
}

// List returns the approvals of a kind, sorted by subject.
func (s Store) List(kind Kind) ([]Approval, error) {
	all, err := s.read(kind)
	if err != nil {
		return nil, err
	}
	var list []Approval
	for subject, entry := range all {
		a, err := decode(Approval{Kind: kind, Subject: subject}, entry)
		if err != nil {
			return nil, fmt.Errorf("read the approval of %.200q in %s: %w", subject, s.text, err)
		}
		if a.Digest != "" {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b Approval) int { return strings.Compare(a.Subject, b.Subject) })
	return list, nil
}

// Approve replaces the approval of a.Subject. An approval without At is given now.
func (s Store) Approve(a Approval) error {
	if a.At.IsZero() {
		a.At = time.Now().UTC().Truncate(time.Second)
	}
	return s.edit(a.Kind, a.Subject, func(entry map[string]json.RawMessage) {
		text, _ := json.Marshal(a)
		delete(entry, details)
		if entry[member] = text; a.Servers == nil && a.Env == nil {
			entry[member], _ = json.Marshal(a.Digest)
			entry[details] = text
		}
	})
}

// Revoke removes the approval of a subject.
func (s Store) Revoke(kind Kind, subject string) error {
	return s.edit(kind, subject, func(entry map[string]json.RawMessage) {
		delete(entry, member)
		delete(entry, details)
	})
}

func (s Store) read(kind Kind) (map[string]json.RawMessage, error) {
	if s.text == nil {
		return nil, nil
	}
	text, err := s.text.Read()
	if err != nil {
		return nil, fmt.Errorf("read approvals: %w", err)
	}
	all, err := entries.Read(text, string(kind))
	if err != nil {
		return nil, fmt.Errorf("read approvals: %s is broken: %w", s.text, err)
	}
	return all, nil
}

func (s Store) edit(kind Kind, subject string, edit func(map[string]json.RawMessage)) error {
	if s.text == nil {
		return fmt.Errorf("keep the approval of %.200q: this broker keeps none", subject)
	}
	err := s.text.Edit(func(before []byte) ([]byte, error) {
		return entries.Edit(before, string(kind), subject, edit)
	})
	if err != nil {
		return fmt.Errorf("keep the approval of %.200q in %s: %w", subject, s.text, err)
	}
	return nil
}

// decode adds to a the approval of an entry.
func decode(a Approval, entry json.RawMessage) (Approval, error) {
	members, err := entries.Object(entry)
	if err != nil || members[member] == nil {
		return a, err
	}
	given := a
	if json.Unmarshal(members[member], &given.Digest) != nil {
		err := jsonscan.Explain(json.Unmarshal(members[member], &given))
		return given, err
	}
	whole := a
	if json.Unmarshal(members[details], &whole) == nil && whole.Digest == given.Digest {
		return whole, nil // otherwise an older version has replaced the digest
	}
	return given, nil
}
