package accounts

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/state"
)

// A person is an upstream.Person as it is stored: without a token.
type person struct {
	Issuer  string `json:"issuer,omitempty"`
	Subject string `json:"subject"`
	Name    string `json:"name"`
}

func personOf(p *upstream.Person) person { return person{p.Issuer, p.Subject, p.Name} }

func (p person) upstream() *upstream.Person {
	return &upstream.Person{Issuer: p.Issuer, Subject: p.Subject, Name: p.Name}
}

// A pendingEntry entry is available to the holder of its token, which is not stored.
type pendingEntry struct {
	Kind    string    `json:"kind"`
	Hash    string    `json:"hash"` // of the token
	Person  person    `json:"person"`
	Server  string    `json:"server,omitempty"`  // empty means all
	Browser string    `json:"browser,omitempty"` // hash: for a sign-in, of the browser's token; for a console session, of the page's key
	Begun   []byte    `json:"begun,omitempty"`   // for a sign-in: the data that completes it
	Values  []string  `json:"values,omitempty"`  // for a console session: of the claim
	Expires time.Time `json:"expires"`
}

// The kinds of waiting entries. A person has at most maxWaiting of each.
const (
	kindLink    = "link"    // a link that an agent was given
	kindBrowser = "browser" // a browser that has proved its owner
	kindSignIn  = "sign-in" // a sign-in that continues at a server's page
	kindConsole = "console" // a browser that has signed in to the console
	maxPending  = 10
)

// slotLength is the length of the part of a token that identifies the document, so that each
// person has one document, however many links there are.
const slotLength = 16

func slotName(slot string) string { return "waiting-" + slot }

var errGone = errors.New("it was used already, or has expired")

// wait stores w for a time and returns its token.
func (a *Service) wait(ctx context.Context, w pendingEntry, for_ time.Duration) (token string, err error) {
	slot := w.Person.upstream().Key()[:slotLength]
	token = slot + rand.Text()
	w.Hash, w.Expires = hashed(token), time.Now().Add(for_)
	err = a.change(ctx, slot, func(all []pendingEntry) []pendingEntry {
		same := 0
		for i := len(all) - 1; i >= 0; i-- { // the newest are last
			if all[i].Kind == w.Kind && all[i].Person == w.Person {
				if same++; same >= maxPending {
					all = slices.Delete(all, i, i+1)
				}
			}
		}
		return append(all, w)
	})
	return token, err
}

// slotOf returns the document that contains the entry of a token.
func (a *Service) slotOf(token string) (slot string, err error) {
	if a.o.Documents == nil || len(token) <= slotLength || len(token) > 100 || strings.Trim(token[:slotLength], "0123456789abcdef") != "" {
		return "", errGone
	}
	return token[:slotLength], nil
}

// lookUp returns the entry of a token that ok accepts.
func (a *Service) lookUp(ctx context.Context, token, kind string, ok func(pendingEntry) bool) (pendingEntry, error) {
	slot, err := a.slotOf(token)
	if err != nil {
		return pendingEntry{}, err
	}
	all, err := a.read(ctx, slot)
	if err != nil {
		return pendingEntry{}, err
	}
	if i := find(all, token, kind, ok); i >= 0 {
		return all[i], nil
	}
	return pendingEntry{}, errGone
}

func find(all []pendingEntry, token, kind string, ok func(pendingEntry) bool) int {
	hash := hashed(token)
	return slices.IndexFunc(all, func(w pendingEntry) bool { return w.Hash == hash && w.Kind == kind && ok(w) })
}

// take is like look, and removes the entry.
func (a *Service) take(ctx context.Context, token, kind string, ok func(pendingEntry) bool) (found pendingEntry, err error) {
	if _, err := a.lookUp(ctx, token, kind, ok); err != nil {
		return found, err // before locking anything for a token that was never issued
	}
	err = a.change(ctx, token[:slotLength], func(all []pendingEntry) []pendingEntry {
		i := find(all, token, kind, ok)
		if i < 0 {
			return nil
		}
		found = all[i]
		return slices.Delete(all, i, i+1)
	})
	if err == nil && found.Hash == "" {
		err = errGone
	}
	return found, err
}

// read returns the entries of a slot that have not expired.
func (a *Service) read(ctx context.Context, slot string) (all []pendingEntry, err error) {
	body, err := a.o.Documents.Document(ctx, slotName(slot))
	switch {
	case errors.Is(err, state.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read who connects: %w", err)
	case json.Unmarshal(body, &all) != nil:
		return nil, nil // of another version: the person begins again
	}
	now := time.Now()
	return slices.DeleteFunc(all, func(w pendingEntry) bool { return now.After(w.Expires) }), nil
}

// change replaces the entries of a slot by the result of with, unless that is nil.
func (a *Service) change(ctx context.Context, slot string, with func([]pendingEntry) []pendingEntry) error {
	name := slotName(slot)
	unlock, err := a.o.Documents.LockDocument(ctx, name)
	if err != nil {
		return fmt.Errorf("keep who connects: %w", err)
	}
	defer unlock()
	all, err := a.read(ctx, slot)
	if err != nil {
		return err
	}
	next := with(all)
	if next == nil {
		return nil
	}
	if len(next) == 0 {
		return a.o.Documents.SetDocument(ctx, name, nil)
	}
	body, err := json.Marshal(next)
	if err != nil {
		return err
	}
	return a.o.Documents.SetDocument(ctx, name, body)
}

// complete adds the data that completes a waiting sign-in.
func (a *Service) complete(ctx context.Context, token string, begun []byte) error {
	hash := hashed(token)
	return a.change(ctx, token[:slotLength], func(all []pendingEntry) []pendingEntry {
		i := slices.IndexFunc(all, func(w pendingEntry) bool { return w.Hash == hash })
		if i < 0 {
			return nil
		}
		all[i].Begun = begun
		return all
	})
}
