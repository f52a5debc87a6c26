// Package vault replaces secrets and personal data in texts by tokens, such as
// «email:1·k3f9ab», and keeps what they stand for: sealed, for a day, and for each
// client apart. A token goes back to its value on the way to a tool that may have
// it.
package vault

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/filelock"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/internal/redact"
)

const (
	// age is how long a token can be given back; one that is used again within its
	// last half lives on.
	age = 24 * time.Hour
	// maxEntries and maxBytes bound what is kept; the oldest go first.
	maxEntries = 20_000
	maxBytes   = 16 << 20
	maxValue   = 64 << 10
	// maxSeen is how many bytes of results are remembered, to find out where a value
	// comes from.
	maxSeen = 8 << 20
	// maxLook is how much of that is searched for the values of one text.
	maxLook = 16 << 20
	// maxReveal is how much is searched for the values of the tokens of one call.
	maxReveal = 1 << 30
)

// ErrUnknown means that a token is none of this client, or too old. It says the
// same of both.
var ErrUnknown = errors.New("not a token that was given here within the last day")

// A ForeignError means that a value may not go to a server.
type ForeignError struct {
	Token string
	From  []string // the servers that it came from, as far as that is known
}

func (e *ForeignError) Error() string {
	from := "it is not known which server it came from"
	if len(e.From) > 0 {
		from = "it came from " + strings.Join(e.From, ", ")
	}
	return e.Token + " stands for a value that may not go there: " + from
}

// A Vault is safe for concurrent use, by several processes too.
type Vault struct {
	path string // "" keeps all in memory
	fleet
	key func() ([]byte, error)
	log *slog.Logger
	// Count is called with the kind of each value that Hide replaces; it may be nil.
	Count  func(kind string)
	mu     sync.Mutex
	opened bool
	macKey []byte
	seal   cipher.AEAD
	file   os.FileInfo // as it was read, up to offset
	offset int64
	lines  int // up to there

	entries []*entry
	bytes   int
	byToken map[string]*entry // by principal and token
	byValue map[[32]byte]*entry
	numbers map[string]int // the last, by principal and type

	seen      []seen
	seenBytes int
}

// An entry is a token, and what it stands for.
type entry struct {
	Principal string    `json:"p"`
	Token     string    `json:"t"`
	Kind      string    `json:"k"`
	Value     string    `json:"v"`
	From      []string  `json:"f,omitempty"`
	Until     time.Time `json:"u"`
}

// seen is a result that a server has sent.
type seen struct {
	principal, server string
	value             []byte
}

// New returns the vault in the file at path, in an existing folder, encrypted with a
// key of 32 bytes. key is called on first use. An empty path keeps everything in
// memory, with a random key if key is nil.
func New(path string, key func() ([]byte, error), log *slog.Logger) *Vault {
	if key == nil {
		key = func() ([]byte, error) { b := make([]byte, 32); _, _ = rand.Read(b); return b, nil }
	}
	return &Vault{path: path, key: key, log: log, byToken: map[string]*entry{}, byValue: map[[32]byte]*entry{}, numbers: map[string]int{}}
}

// Hide returns a text with the secrets in it, and the data about persons, as tokens
// for a principal. Text that is JSON stays JSON.
func (v *Vault) Hide(principal, text string, set Settings) string {
	if !set.On() {
		return text
	}
	var spans []redact.Span
	find, findJSON, replace, isJSON := redact.FindSecrets, redact.FindSecretsJSON, redact.Replace, false
	if set.Personal {
		find, findJSON = redact.Find, redact.FindJSON
	}
	if t := strings.TrimLeft(text, " \n"); t != "" && (t[0] == '{' || t[0] == '[' || t[0] == '"') {
		if spans, isJSON = findJSON(text); isJSON {
			replace = redact.ReplaceJSON
		}
	}
	if !isJSON {
		spans = find(text)
	}
	if !set.Secrets {
		spans = slices.DeleteFunc(spans, func(s redact.Span) bool { return !redact.Personal(s.Type) })
	}
	if len(spans) == 0 {
		return text
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.refresh(principal); err != nil {
		v.log.Warn("read tokens", "err", err)
	}
	var fresh []*entry
	look := maxLook
	text = replace(text, spans, func(kind, value string) string {
		if v.Count != nil {
			v.Count(kind)
		}
		if v.macKey == nil || len(value) > maxValue {
			return redact.Mark(kind, value)
		}
		e, changed := v.tokenOf(principal, kind, value, &look)
		if changed {
			fresh = append(fresh, e)
		}
		return e.Token
	})
	if err := v.write(fresh); err != nil {
		v.log.Warn("write tokens", "err", err) // they are good in this process
	}
	return text
}

// tokenOf is the entry of a value, and whether it has to be written.
func (v *Vault) tokenOf(principal, kind, value string, look *int) (e *entry, changed bool) {
	digest := v.digest(principal, kind, value)
	e = v.byValue[digest]
	if e == nil || time.Until(e.Until) <= 0 {
		series := principal + "\x00" + kind
		e = &entry{Principal: principal, Kind: kind, Value: value, Until: time.Now().Add(age),
			Token: fmt.Sprintf("«%s:%d·%s»", kind, v.numbers[series]+1, strings.ToLower(base32.StdEncoding.EncodeToString(digest[:])[:6]))}
		e.From = v.sources(principal, value, look)
		v.add(e)
		return e, true
	}
	if len(e.From) == 0 {
		e.From = v.sources(principal, value, look)
		changed = e.From != nil
	}
	if time.Until(e.Until) < age/2 {
		e.Until, changed = time.Now().Add(age), true
	}
	return e, changed
}

// digest says which principal and value a token is of, to who has the key.
func (v *Vault) digest(principal, kind, value string) (sum [32]byte) {
	if kind == "email" {
		value = strings.ToLower(value)
	}
	h := hmac.New(sha256.New, v.macKey)
	for _, s := range []string{principal, kind, value} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	copy(sum[:], h.Sum(nil))
	return sum
}

// add takes an entry in.
func (v *Vault) add(e *entry) {
	v.byValue[v.digest(e.Principal, e.Kind, e.Value)] = e
	v.byToken[e.Principal+"\x00"+e.Token] = e
	series, n := numberOf(e)
	v.numbers[series] = max(v.numbers[series], n)
	v.entries = append(v.entries, e)
	v.bytes += len(e.Value)
	if len(v.entries) <= maxEntries && v.bytes <= maxBytes {
		return
	}
	gone := len(v.entries)/4 + 1
	for _, old := range v.entries[:gone] {
		v.bytes -= len(old.Value)
		if key := old.Principal + "\x00" + old.Token; v.byToken[key] == old {
			delete(v.byToken, key)
		}
		if key := v.digest(old.Principal, old.Kind, old.Value); v.byValue[key] == old {
			delete(v.byValue, key)
		}
	}
	v.entries = slices.Clone(v.entries[gone:])
	v.numbers = make(map[string]int) // of the principals that still have tokens
	for _, e := range v.entries {
		series, n := numberOf(e)
		v.numbers[series] = max(v.numbers[series], n)
	}
}

// numberOf returns the series of an entry, by principal and type, and its number in it.
func numberOf(e *entry) (series string, n int) {
	_, _ = fmt.Sscanf(e.Token[len("«"+e.Kind+":"):], "%d", &n) // 0 for a token of another form
	return e.Principal + "\x00" + e.Kind, n
}

// Saw remembers what a server has sent to a principal: values that are found in it
// may go back there.
func (v *Vault) Saw(principal, server string, result []byte) {
	if len(result) > maxSeen {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen = append(v.seen, seen{principal, server, result})
	v.seenBytes += len(result)
	n := 0
	for ; v.seenBytes > maxSeen || len(v.seen)-n > 1000; n++ {
		v.seenBytes -= len(v.seen[n].value)
		v.seen[n].value = nil
	}
	v.seen = v.seen[n:]
}

// sources are the servers that have sent a value to a principal, as far as look,
// which is how many bytes may be searched for that, the last first.
func (v *Vault) sources(principal, value string, look *int) (from []string) {
	needles := [][]byte{[]byte(value)}
	for range 2 { // as it stands in JSON, and in JSON in a string
		q, _ := json.Marshal(string(needles[len(needles)-1])) // a text
		if q = q[1 : len(q)-1]; bytes.Equal(q, needles[len(needles)-1]) {
			break
		}
		needles = append(needles, q)
	}
	for i := len(v.seen) - 1; i >= 0 && *look > 0; i-- {
		s := &v.seen[i]
		if s.principal != principal {
			continue
		}
		*look -= len(s.value)
		if !slices.Contains(from, s.server) && slices.ContainsFunc(needles, func(n []byte) bool { return bytes.Contains(s.value, n) }) {
			from = append(from, s.server)
		}
	}
	return from
}

// tokens matches tokens in JSON, possibly with escaped letters.
var tokens = lazyregexp.New(`(?:«|\\u00ab)([a-z0-9_]{2,40}:[0-9]{1,9})(?:·|\\u00b7)([a-z2-7]{6})(?:»|\\u00bb)`)

// HasTokens reports whether there is a token in the arguments of a call.
func HasTokens(args []byte) bool {
	return (bytes.Contains(args, []byte("«")) || bytes.Contains(args, []byte(`\u00ab`))) && tokens.Match(args)
}

// Reveal returns arguments with the tokens of a principal as their values, for a
// server that they came from, or any if anywhere is set. The error, for all or
// nothing, is a *ForeignError, or wraps ErrUnknown.
func (v *Vault) Reveal(principal, server string, args []byte, anywhere bool) (revealed []byte, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.refresh(principal); err != nil {
		v.log.Warn("read tokens", "err", err)
	}
	look := maxReveal
	revealed = tokens.ReplaceAllFunc(args, func(found []byte) []byte {
		if err != nil {
			return found
		}
		part := tokens.FindSubmatch(found)
		token := fmt.Sprintf("«%s·%s»", part[1], part[2])
		e := v.byToken[principal+"\x00"+token]
		switch {
		case e == nil || time.Until(e.Until) <= 0:
			err = fmt.Errorf("%s is %w", token, ErrUnknown)
			return found
		case anywhere, slices.Contains(e.From, server), slices.Contains(v.sources(principal, e.Value, &look), server):
			q, _ := json.Marshal(e.Value) // a text
			return q[1 : len(q)-1]
		}
		err = &ForeignError{Token: token, From: e.From}
		return found
	})
	if err != nil {
		return nil, err
	}
	return revealed, nil
}

// Describe returns the arguments of a call for a person. After each token of the
// principal it adds the length of its value, and the value itself if it could be
// readable text: the author could use a token to hide it from the approver.
func (v *Vault) Describe(principal string, args []byte) []byte {
	if !HasTokens(args) {
		return args // without asking for the key
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.refresh(principal); err != nil {
		v.log.Warn("read tokens", "err", err)
	}
	return tokens.ReplaceAllFunc(args, func(found []byte) []byte {
		part := tokens.FindSubmatch(found)
		e := v.byToken[principal+"\x00"+fmt.Sprintf("«%s·%s»", part[1], part[2])]
		if e == nil {
			return found
		}
		if redact.Readable(e.Kind, e.Value) {
			q, _ := json.Marshal(e.Value) // a text
			return fmt.Appendf(slices.Clone(found), " (%d characters: %s)", utf8.RuneCountInString(e.Value), q[1:len(q)-1])
		}
		return fmt.Appendf(slices.Clone(found), " (%d characters)", utf8.RuneCountInString(e.Value))
	})
}

// refresh reads what was written since, by this process or another; v.mu is held.
func (v *Vault) refresh(principal string) error {
	if !v.opened {
		v.opened = true // a key that cannot be read is not asked for again
		key, err := v.key()
		if err == nil && len(key) != 32 {
			err = errors.New("the key of the vault is not 32 bytes long")
		}
		if err != nil {
			return err
		}
		derive := func(what string) []byte {
			h := hmac.New(sha256.New, key)
			h.Write([]byte(what))
			return h.Sum(nil)
		}
		block, err := aes.NewCipher(derive("seal"))
		if err != nil {
			return err
		}
		if v.seal, err = cipher.NewGCM(block); err != nil {
			return err
		}
		v.macKey = derive("token")
	}
	if v.docs != nil && v.macKey != nil {
		return v.catchUp(principal)
	}
	if v.path == "" || v.macKey == nil {
		return nil
	}
	info, err := os.Stat(v.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case v.file != nil && os.SameFile(v.file, info) && info.Size() == v.offset:
		return nil
	}
	if v.file == nil || !os.SameFile(v.file, info) || info.Size() < v.offset {
		v.offset, v.lines = 0, 0
	}
	f, err := os.Open(v.path)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.NewSectionReader(f, v.offset, 4*maxBytes))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	end := bytes.LastIndexByte(data, '\n') + 1 // another process may be writing
	v.file, v.offset = info, v.offset+int64(end)
	for line := range bytes.Lines(data[:end]) {
		v.lines++
		v.take(v.unseal(line))
	}
	if v.lines > 100 && v.lines > 2*len(v.byToken) {
		return v.compact()
	}
	return nil
}

// take takes in an entry that was read; nil is none.
func (v *Vault) take(e *entry) {
	if e == nil || time.Until(e.Until) <= 0 {
		return
	}
	if old := v.byToken[e.Principal+"\x00"+e.Token]; old == nil {
		v.add(e)
	} else if e.Until.After(old.Until) || len(e.From) > len(old.From) {
		old.Until, old.From = e.Until, e.From
	}
}

// unseal returns the entry of a line, or nil if it is sealed with another key, or damaged.
func (v *Vault) unseal(line []byte) *entry {
	box, err := base64.StdEncoding.AppendDecode(nil, bytes.TrimSpace(line))
	if err != nil || len(box) < v.seal.NonceSize() {
		return nil
	}
	plain, err := v.seal.Open(nil, box[:v.seal.NonceSize()], box[v.seal.NonceSize():], nil)
	e := &entry{}
	if err != nil || json.Unmarshal(plain, e) != nil || !e.ok() {
		return nil
	}
	return e
}

func (e *entry) ok() bool { return strings.HasPrefix(e.Token, "«"+e.Kind+":") }

func (v *Vault) sealed(entries []*entry) []byte {
	var out []byte
	for _, e := range entries {
		plain, _ := json.Marshal(e) // texts and a time
		nonce := make([]byte, v.seal.NonceSize())
		_, _ = rand.Read(nonce) // never fails
		out = append(base64.StdEncoding.AppendEncode(out, v.seal.Seal(nonce, nonce, plain, nil)), '\n')
	}
	return out
}

// write keeps entries of one principal; v.mu is held.
func (v *Vault) write(entries []*entry) error {
	if v.docs != nil && len(entries) > 0 {
		return v.tell(entries)
	}
	if v.path == "" || len(entries) == 0 {
		return nil
	}
	f, err := os.OpenFile(v.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(v.sealed(entries)) // one write, so that no other one comes between
	return errors.Join(err, f.Close())
}

// compact replaces the file by one without what is too old; v.mu is held.
func (v *Vault) compact() error {
	v.lines = 0 // if it fails, not with each text
	unlock, ok, err := filelock.Try(v.path + ".lock")
	if err != nil || !ok {
		return err
	}
	defer unlock()
	var live []*entry
	for _, e := range v.entries {
		if v.byToken[e.Principal+"\x00"+e.Token] == e {
			live = append(live, e)
		}
	}
	if err := atomicfile.Write(v.path, v.sealed(live)); err != nil {
		return err
	}
	v.file = nil
	return nil
}
