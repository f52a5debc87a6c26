package bearer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// keysLife is the time after which the issuer's keys are read again. It bounds how
	// long a withdrawn key is accepted.
	keysLife = 5 * time.Minute
	// keysGrace is the time for which old keys are used while the issuer is
	// unreachable, and awayRetry the time between attempts to reach it.
	keysGrace = time.Hour
	awayRetry = 30 * time.Second
	// againTimeout bounds the wait for new keys while older ones are still valid.
	againTimeout = 3 * time.Second
)

// errKeys means that the keys cannot be read, so the token could not be checked.
var errKeys = errors.New("the keys cannot be read")

// A keySet contains the public keys of an issuer. It is safe for concurrent use.
type keySet struct {
	client *http.Client
	url    string
	now    func() time.Time

	mu    sync.RWMutex
	keys  []jose.JSONWebKey
	read  time.Time // of keys; zero if never
	tried time.Time
	err   error // of the last attempt

	reading sync.Mutex // held by the goroutine that reads the keys
}

// verify returns the payload and the type of a token that one of the keys signed.
func (k *keySet) verify(ctx context.Context, token string) (payload []byte, typ string, err error) {
	jws, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, "", err
	}
	header := jws.Signatures[0].Protected
	typ, _ = header.ExtraHeaders[jose.HeaderType].(string)
	keys, at, err := k.get(ctx, time.Time{})
	if err != nil {
		return nil, "", err
	}
	if payload := signed(jws, keys, header.KeyID); payload != nil {
		return payload, typ, nil
	}
	// An unknown key may be a new one.
	if keys, _, err = k.get(ctx, at); err != nil {
		return nil, "", err
	}
	if payload := signed(jws, keys, header.KeyID); payload != nil {
		return payload, typ, nil
	}
	return nil, "", errors.New("none of the issuer's keys signed it")
}

func signed(jws *jose.JSONWebSignature, keys []jose.JSONWebKey, id string) []byte {
	for i := range keys {
		if id != "" && keys[i].KeyID != id {
			continue
		}
		if payload, err := jws.Verify(&keys[i]); err == nil {
			return payload
		}
	}
	return nil
}

// get returns the keys and the time at which they were read. It reads them again if
// they are old or not newer than after, unless it did so a moment ago.
func (k *keySet) get(ctx context.Context, after time.Time) ([]jose.JSONWebKey, time.Time, error) {
	keys, read, due := k.current(after)
	if !due {
		return keys, read, k.usable(read)
	}
	if !k.reading.TryLock() {
		// Another call reads them. Old keys are good enough meanwhile, except for a
		// token with a key that they do not contain.
		if after.IsZero() && k.usable(read) == nil {
			return keys, read, nil
		}
		k.reading.Lock()
	}
	defer k.reading.Unlock()
	keys, read, due = k.current(after)
	if !due { // another call has read them
		return keys, read, k.usable(read)
	}
	limit := fetchTimeout
	if !read.IsZero() && k.now().Sub(read) < keysGrace {
		limit = againTimeout
	}
	fresh, err := k.fetch(ctx, limit)
	k.mu.Lock()
	k.tried, k.err = k.now(), err
	if err == nil {
		k.keys, k.read = fresh, k.tried
	}
	keys, read = k.keys, k.read
	k.mu.Unlock()
	return keys, read, k.usable(read)
}

// current returns the current keys, and whether to read them again.
func (k *keySet) current(after time.Time) (keys []jose.JSONWebKey, read time.Time, due bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	now := k.now()
	pause := retryAfter
	if k.err != nil && !k.read.IsZero() {
		pause = awayRetry
	}
	old := k.read.IsZero() || now.Sub(k.read) >= keysLife || !after.IsZero() && !k.read.After(after)
	return k.keys, k.read, old && (k.tried.IsZero() || now.Sub(k.tried) >= pause)
}

// usable returns an error if the keys were never read, or too long ago.
func (k *keySet) usable(read time.Time) error {
	if !read.IsZero() && k.now().Sub(read) < keysGrace {
		return nil
	}
	return errKeys
}

func (k *keySet) fetch(ctx context.Context, limit time.Duration) ([]jose.JSONWebKey, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit) // other calls wait for it
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Cache-Control", "no-cache")
	resp, err := k.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys { // keys of an unknown kind are skipped
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) == nil && key.IsPublic() && key.Valid() && key.Use != "enc" {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the issuer has no keys")
	}
	return keys, nil
}

// A verified payload satisfies oidc.KeySet: its signature was checked earlier.
type verified []byte

// VerifySignature implements oidc.KeySet.
func (v verified) VerifySignature(context.Context, string) ([]byte, error) { return v, nil }

// accessType reports whether typ is the type of an access token, or missing (RFC 9068,
// section 4). Other tokens of the issuer have other types, such as logout+jwt.
func accessType(typ string) bool {
	switch strings.TrimPrefix(strings.ToLower(typ), "application/") {
	case "at+jwt", "jwt":
		return true
	}
	return false
}
