// Package apitoken stores the tokens that "broker tokens" creates for programs. It stores only
// their hashes, so that stored tokens cannot be read.
package apitoken

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// Prefix is the prefix of each token, for secret scanners.
const Prefix = "brk_"

// MaxTokens is the highest number of tokens.
const MaxTokens = 1000

// A Token is the stored data of a token.
type Token struct {
	Name    string    `json:"name"` // of the client that has the token
	Hash    string    `json:"sha256"`
	Profile string    `json:"profile,omitempty"` // the only usable profile; empty means any
	Team    string    `json:"team,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero means never
}

// Documents with the tokens, the day of their last use, and the names of revoked ones.
const (
	tokensDoc  = "tokens"
	usedDoc    = "used"
	revokedDoc = "revoked"
)

// maxRevoked bounds the remembered names of revoked tokens; the latest are kept.
const maxRevoked = 10 * MaxTokens

// A Store stores tokens in documents.
type Store struct{ docs state.Documents }

// NewStore returns the store in docs.
func NewStore(docs state.Documents) Store { return Store{docs} }

var (
	// ErrTaken reports that another token has the name.
	ErrTaken = errors.New("a token has this name already")
	// ErrRevoked reports that a revoked token had the name. The name owns stored data, runs and
	// sessions, which a new token would get.
	ErrRevoked = errors.New("a revoked token had this name")
	errMany    = fmt.Errorf("there are %d tokens: revoke some of them", MaxTokens)
)

// Create makes a token with the name and the limits of t, and returns the secret, which
// is not stored. With inherit, the token may have the name of a revoked one and gets
// its stored data.
func (s Store) Create(ctx context.Context, t Token, inherit bool) (secret string, err error) {
	var revoked map[string]time.Time
	if err := read(ctx, s.docs, revokedDoc, &revoked); err != nil {
		return "", err
	}
	if _, was := revoked[t.Name]; was && !inherit {
		return "", ErrRevoked
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	secret = Prefix + hex.EncodeToString(key)
	t.Hash, t.Created = hash(secret), time.Now().UTC().Truncate(time.Second)
	err = change(ctx, s.docs, tokensDoc, func(list *[]Token) error {
		switch {
		case slices.ContainsFunc(*list, func(o Token) bool { return o.Name == t.Name }):
			return ErrTaken
		case len(*list) >= MaxTokens:
			return errMany
		}
		*list = append(*list, t)
		return nil
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// List returns the tokens by their names, and the days of their last use.
func (s Store) List(ctx context.Context) (list []Token, used map[string]string, err error) {
	if err := read(ctx, s.docs, tokensDoc, &list); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(list, func(a, b Token) int { return strings.Compare(a.Name, b.Name) })
	if err := read(ctx, s.docs, usedDoc, &used); err != nil {
		return nil, nil, err
	}
	// A broker may have recorded the use of a token that was revoked meanwhile, or of an earlier
	// token of that name.
	maps.DeleteFunc(used, func(name, day string) bool {
		i := slices.IndexFunc(list, func(t Token) bool { return t.Name == name })
		return i < 0 || day < list[i].Created.UTC().Format(time.DateOnly)
	})
	return list, used, nil
}

// Revoke revokes a token. It returns state.ErrNotFound for an unknown name.
func (s Store) Revoke(ctx context.Context, name string) error {
	var list []Token
	if err := read(ctx, s.docs, tokensDoc, &list); err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(t Token) bool { return t.Name == name }) {
		return state.ErrNotFound
	}
	err := change(ctx, s.docs, revokedDoc, func(revoked *map[string]time.Time) error { // first, so that a revocation is never lost
		if *revoked == nil {
			*revoked = make(map[string]time.Time)
		}
		(*revoked)[name] = time.Now().UTC().Truncate(time.Second)
		for len(*revoked) > maxRevoked {
			oldest := slices.MinFunc(slices.Collect(maps.Keys(*revoked)), func(a, b string) int { return (*revoked)[a].Compare((*revoked)[b]) })
			delete(*revoked, oldest)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = change(ctx, s.docs, tokensDoc, func(list *[]Token) error {
		i := slices.IndexFunc(*list, func(t Token) bool { return t.Name == name })
		if i < 0 {
			return state.ErrNotFound
		}
		*list = slices.Delete(*list, i, i+1)
		return nil
	})
	if err != nil {
		return err
	}
	return change(ctx, s.docs, usedDoc, func(used *map[string]string) error { delete(*used, name); return nil })
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// read reads a document, which may not exist.
func read[T any](ctx context.Context, docs state.Documents, name string, to *T) error {
	body, err := docs.Document(ctx, name)
	if errors.Is(err, state.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(body, to)
	}
	if err != nil {
		return fmt.Errorf("read the tokens: %w", err)
	}
	return nil
}

// change changes a document under its lock.
func change[T any](ctx context.Context, docs state.Documents, name string, f func(*T) error) error {
	unlock, err := docs.LockDocument(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	var value T
	if err := read(ctx, docs, name, &value); err != nil {
		return err
	}
	if err := f(&value); err != nil {
		return err
	}
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return docs.SetDocument(ctx, name, body)
}
