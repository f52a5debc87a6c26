package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/outbound"
	"github.com/mcpbroker/mcpbroker/state"
)

// A record is the stored data of the sign-in to one server. It is secret.
type record struct {
	Server        string    `json:"server"`
	Issuer        string    `json:"issuer"`
	Bound         bool      `json:"bound,omitempty"`    // all addresses are of one answer of Issuer; older records may mix two
	Resource      string    `json:"resource,omitempty"` // as the protected-resource metadata names it
	TokenURL      string    `json:"token_url"`
	RevocationURL string    `json:"revocation_url,omitempty"`
	ClientID      string    `json:"client_id"`
	ClientSecret  string    `json:"client_secret,omitempty"` // of a registered client; a configured one stays in the configuration
	Configured    bool      `json:"configured,omitempty"`    // the client is that of the configuration
	AuthStyle     int       `json:"auth_style,omitempty"`    // as oauth2.AuthStyle
	Scopes        []string  `json:"scopes,omitempty"`
	Wanted        []string  `json:"wanted,omitempty"` // scopes that a request was refused for lack of
	Asked         []string  `json:"asked,omitempty"`  // those of Wanted that a sign-in has asked for since
	AccessToken   string    `json:"access_token,omitempty"`
	RefreshToken  string    `json:"refresh_token,omitempty"`
	Expiry        time.Time `json:"expiry,omitzero"` // zero if unknown
	Ended         string    `json:"ended,omitempty"` // the reason the tokens were deleted
}

// expiryMargin is the time before its expiry from which a token is not used, so that it does not
// expire in transit.
const expiryMargin = 10 * time.Second

// fresh reports whether the access token is valid now.
func (r *record) fresh(now time.Time) bool {
	return r != nil && r.AccessToken != "" && (r.Expiry.IsZero() || now.Add(expiryMargin).Before(r.Expiry))
}

// checkClient refuses a configured client that has changed since the sign-in: its secret belongs
// to another registration.
func (r *record) checkClient(c Client) error {
	if r.Configured && (c.ID != r.ClientID || c.Issuer != "" && !sameIssuer(c.Issuer, r.Issuer)) {
		return errors.New("the client in the configuration has changed since the sign-in")
	}
	return nil
}

// revocation returns the revocation endpoint, or "".
func (r *record) revocation() string {
	a, aErr := url.Parse(r.RevocationURL)
	b, bErr := url.Parse(r.TokenURL)
	if !r.Bound && (aErr != nil || bErr != nil || !outbound.SameOrigin(a, b)) {
		return ""
	}
	return r.RevocationURL
}

// end deletes the tokens.
func (r *record) end(why string) {
	r.AccessToken, r.RefreshToken, r.Expiry, r.Ended = "", "", time.Time{}, why
}

// A store stores records: in the keyring if there is a working one, otherwise in documents. There
// is a document for each record in either case, so that a change by another process is noticed
// without asking the keyring.
type store struct {
	docs    state.Documents
	scope   string // distinguishes stores that use the same keyring
	keyring Keyring
}

// A stored document contains a record, or the name of its keyring entry.
type stored struct {
	Keyring string    `json:"keyring,omitempty"` // the name of its entry
	Saved   time.Time `json:"saved"`
	Record  *record   `json:"record,omitempty"`
	// Challenge is the server's refusal of a call, for the next sign-in: some servers
	// only say there where to sign in.
	Challenge *challenge `json:"challenge,omitempty"`
}

// key returns the name of the record of one server at one address. Two state directories do not
// share records, because they do not share locks.
func (s *store) key(server, url string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + url + "\x00" + s.scope))
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, server)
	return name[:min(len(name), 40)] + "-" + hex.EncodeToString(sum[:8])
}

// lock excludes every other user of the record, in this process and in others.
func (s *store) lock(ctx context.Context, key string) (unlock func(), err error) {
	unlock, err = s.docs.LockDocument(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("keep tokens: %w", err)
	}
	return unlock, nil
}

// stamp returns a text that changes with the record, or "" without one.
func (s *store) stamp(key string) string { return s.docs.DocumentVersion(context.Background(), key) }

// load returns the record, or nil if there is none.
func (s *store) load(key string) (*record, error) {
	f, err := s.file(key)
	if f == nil || f.Keyring == "" {
		return f.record(), err
	}
	text, err := s.keyring.Get(f.Keyring)
	if errors.Is(err, ErrNotFound) {
		return nil, nil // deleted with the keyring's own tools
	}
	if err != nil {
		return nil, fmt.Errorf("read the token from the keyring: %w", err)
	}
	r := new(record)
	if json.Unmarshal([]byte(text), r) != nil {
		return nil, nil // as if there were none
	}
	return r, nil
}

// loadUntil is like load, and gives up when ctx is done: a locked keyring waits for its user, and
// the broker must be able to stop meanwhile.
func (s *store) loadUntil(ctx context.Context, key string) (*record, error) {
	if f, err := s.file(key); f == nil || f.Keyring == "" {
		return f.record(), err
	}
	type result struct {
		rec *record
		err error
	}
	done := make(chan result, 1)
	go func() { // it ends when the keyring answers, or is abandoned
		rec, err := s.load(key)
		done <- result{rec, err}
	}()
	select {
	case r := <-done:
		return r.rec, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("read the token from the keyring: %w", context.Cause(ctx))
	}
}

func (f *stored) record() *record {
	if f == nil {
		return nil
	}
	return f.Record
}

func (s *store) file(key string) (*stored, error) {
	data, err := s.docs.Document(context.Background(), key)
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the token: %w", err)
	}
	f := new(stored)
	if json.Unmarshal(data, f) != nil {
		return nil, nil // as if there were none: another program wrote this
	}
	return f, nil
}

// save replaces the record. The caller must hold the lock.
func (s *store) save(key string, r *record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keep the token: %w", err)
	}
	f := stored{Keyring: entryPrefix + key, Saved: time.Now()}
	old, _ := s.file(key)
	if old != nil {
		f.Challenge = old.Challenge
	}
	if err := s.keyring.Set(f.Keyring, string(text)); err != nil {
		if old != nil && old.Keyring != "" {
			_ = s.keyring.Delete(old.Keyring) // an old token must not remain; the file takes precedence anyway
		}
		f.Keyring, f.Record = "", r
	}
	return s.write(key, f)
}

func (s *store) write(key string, f stored) error {
	data, err := json.Marshal(f)
	if err == nil {
		err = s.docs.SetDocument(context.Background(), key, data)
	}
	if err != nil {
		return fmt.Errorf("keep the token: %w", err)
	}
	return nil
}

// remove deletes the record. The caller must hold the lock.
func (s *store) remove(key string) error {
	f, err := s.file(key)
	if err != nil {
		return err
	}
	if f != nil && f.Keyring != "" {
		if err := s.keyring.Delete(f.Keyring); err != nil && !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("delete the token from the keyring: %w", err)
		}
	}
	if f != nil && f.Challenge != nil { // the next sign-in at the server needs it
		return s.write(key, stored{Saved: time.Now(), Challenge: f.Challenge})
	}
	if err := s.docs.SetDocument(context.Background(), key, nil); err != nil {
		return fmt.Errorf("delete the token: %w", err)
	}
	return nil
}

// challenge returns the stored refusal of a call.
func (s *store) challenge(key string) challenge {
	if f, _ := s.file(key); f != nil && f.Challenge != nil {
		return *f.Challenge
	}
	return challenge{}
}

// storeChallenge stores the refusal of a call.
func (s *store) storeChallenge(ctx context.Context, key string, c challenge) error {
	unlock, err := s.lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	f, err := s.file(key)
	if err != nil {
		return err
	}
	if f == nil {
		f = &stored{Saved: time.Now()}
	}
	if f.Challenge != nil && f.Challenge.equal(c) {
		return nil
	}
	f.Challenge = &c
	return s.write(key, *f)
}

// where describes where the record is stored.
func (s *store) where(key string) string {
	switch f, _ := s.file(key); {
	case f == nil:
		return ""
	case f.Keyring != "":
		return "keyring"
	}
	if files, ok := s.docs.(interface{ Path(name string) string }); ok {
		return files.Path(key)
	}
	return "database"
}
