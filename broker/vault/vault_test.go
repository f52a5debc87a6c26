package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
)

var all = Settings{Secrets: true, Personal: true}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func fixed() ([]byte, error) { return bytes.Repeat([]byte{7}, 32), nil }

// args are arguments with a text in them.
func args(text string) []byte { return []byte(`{"to":"` + text + `"}`) }

func TestTokensAreStableAndOnlyForTheirOwner(t *testing.T) {
	v := New("", nil, quiet())
	v.Saw("ann", "crm", []byte(`{"mail":"kim@example.com"}`))
	a := v.Hide("ann", "kim@example.com", all)
	if again := v.Hide("ann", "write to Kim@Example.com", all); !tokens.MatchString(a) || again != "write to "+a {
		t.Errorf("%q, then %q", a, again)
	}
	if other := v.Hide("ann", "lee@example.com", all); !strings.HasPrefix(other, "«email:2·") {
		t.Errorf("the second address is %q", other)
	}
	bob := v.Hide("bob", "kim@example.com", all)
	if bob == a {
		t.Errorf("two principals have the token %q", a)
	}
	if got, err := v.Reveal("ann", "crm", args("Kim <"+a+">"), false); string(got) != string(args("Kim <kim@example.com>")) {
		t.Errorf("for crm: %s, %v", got, err)
	}
	if _, err := v.Reveal("ann", "mail", args(a), false); !errors.As(err, new(*ForeignError)) {
		t.Errorf("for mail: %v", err)
	}
	if got, err := v.Reveal("ann", "mail", args(a), true); string(got) != string(args("kim@example.com")) {
		t.Errorf("for mail, which is listed: %s, %v", got, err)
	}
	// One of another principal, and one that never was, are refused in the same words.
	_, foreign := v.Reveal("ann", "crm", args(bob), true)
	_, never := v.Reveal("ann", "crm", args("«email:1·aaaaaa»"), true)
	if !errors.Is(foreign, ErrUnknown) || !errors.Is(never, ErrUnknown) || strings.ReplaceAll(foreign.Error(), bob, "") != strings.ReplaceAll(never.Error(), "«email:1·aaaaaa»", "") {
		t.Errorf("%v, and %v", foreign, never)
	}
}

func TestHiddenJSONStaysJSON(t *testing.T) {
	v := New("", nil, quiet())
	key := "-----BEGIN " + `PRIVATE KEY-----\nMIIabc\n-----END ` + "PRIVATE KEY-----"
	v.Saw("", "files", []byte(`{"content":[{"type":"text","text":"{\"k\":\"`+strings.ReplaceAll(key, `\n`, `\\n`)+`\"}"}]}`))
	text := v.Hide("", `{"k":"`+key+`","password":"correct horse","n":1}`, all)
	token := tokens.FindString(text)
	if text != `{"k":"`+token+`","password":"`+tokens.FindAllString(text, 2)[1]+`","n":1}` {
		t.Fatalf("%s", text)
	}
	if got, err := v.Reveal("", "files", args(token), false); string(got) != string(args(key)) {
		t.Errorf("%s, %v", got, err)
	}
	escaped := strings.NewReplacer("«", `\u00ab`, "·", `\u00b7`, "»", `\u00bb`).Replace(token)
	if got, err := v.Reveal("", "files", args(escaped), false); string(got) != string(args(key)) || !HasTokens(args(escaped)) {
		t.Errorf("escaped: %s, %v", got, err)
	}
	if got := v.Hide("", text, all); got != text {
		t.Errorf("tokens are hidden again: %s", got)
	}
	if got := v.Hide("", "mail kim@example.com", Settings{Secrets: true}); got != "mail kim@example.com" {
		t.Errorf("without personal: %s", got)
	}
}

// What is kept can be read by another process with the key, and by nobody else.
func TestSealedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.sealed")
	one, two := New(path, fixed, quiet()), New(path, fixed, quiet())
	one.Saw("", "crm", []byte("kim@example.com"))
	a := one.Hide("", "kim@example.com", all)
	if got := two.Hide("", "kim@example.com", all); got != a {
		t.Errorf("%q for another process, %q for the first", got, a)
	}
	if got, err := two.Reveal("", "crm", args(a), false); err != nil || !bytes.Contains(got, []byte("kim@example.com")) {
		t.Errorf("%s, %v", got, err)
	}
	b := two.Hide("", "lee@example.com", all) // the first finds what the second wrote
	if got, err := one.Reveal("", "x", args(b), true); err != nil || !bytes.Contains(got, []byte("lee@example.com")) {
		t.Errorf("%s, %v", got, err)
	}
	data, err := os.ReadFile(path)
	if info, _ := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 || bytes.Contains(data, []byte("example")) {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	other := New(path, nil, quiet())
	if _, err := other.Reveal("", "crm", args(a), true); !errors.Is(err, ErrUnknown) {
		t.Errorf("with another key: %v", err)
	}
}

func TestTokensEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "tokens.sealed")
		v := New(path, fixed, quiet())
		a := v.Hide("", "kim@example.com", all)
		for i := range 200 {
			v.Hide("", fmt.Sprintf("kim%d@example.com", i), all)
		}
		time.Sleep(23 * time.Hour)
		if _, err := v.Reveal("", "x", args(a), true); err != nil {
			t.Errorf("after 23 hours: %v", err)
		}
		if got := v.Hide("", "kim@example.com", all); got != a { // which it lives on by
			t.Errorf("after 23 hours the token is %q, before %q", got, a)
		}
		time.Sleep(2 * time.Hour)
		if _, err := v.Reveal("", "x", args(a), true); err != nil {
			t.Errorf("2 hours after it was used: %v", err)
		}
		before, _ := os.Stat(path)
		if _, err := New(path, fixed, quiet()).Reveal("", "x", args(a), true); err != nil { // it compacts
			t.Errorf("2 hours after it was used, for another process: %v", err)
		}
		if after, _ := os.Stat(path); after.Size() >= before.Size()/10 {
			t.Errorf("%d bytes before, %d after what is too old has gone", before.Size(), after.Size())
		}
		time.Sleep(23 * time.Hour)
		if _, err := v.Reveal("", "x", args(a), true); !errors.Is(err, ErrUnknown) {
			t.Errorf("25 hours after it was used: %v", err)
		}
	})
}

func TestVaultIsBounded(t *testing.T) {
	v := New("", fixed, quiet())
	for i := range maxEntries + 10 {
		v.Hide("", fmt.Sprintf("kim%d@example.com", i), all)
	}
	for range 1000 {
		v.Saw("", "s", make([]byte, 10<<10))
	}
	if len(v.entries) > maxEntries || len(v.byToken) != len(v.entries) || len(v.byValue) != len(v.entries) || v.seenBytes > maxSeen {
		t.Errorf("%d entries, %d tokens, %d values, %d bytes of results", len(v.entries), len(v.byToken), len(v.byValue), v.seenBytes)
	}
}

// A vault remembers nothing of principals whose tokens are gone.
func TestNumbersOfPrincipalsAreBounded(t *testing.T) {
	v := New("", fixed, quiet())
	for i := range maxEntries + 10 {
		v.Hide(fmt.Sprintf("client%d", i), "kim@example.com", all)
	}
	if len(v.numbers) > maxEntries || len(v.numbers) != len(v.entries) {
		t.Errorf("%d numbers for %d entries", len(v.numbers), len(v.entries))
	}
	if text := v.Hide("client20009", "lee@example.com", all); !strings.HasPrefix(text, "«email:2·") {
		t.Errorf("the second token of a principal: %s", text)
	}
}

// Nobody fills the disk with values that are seen once.
func TestFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.sealed")
	v := New(path, fixed, quiet())
	for i := range 70 {
		var text strings.Builder
		for k := range 1000 {
			fmt.Fprintf(&text, "kim%d@example.com ", 1000*i+k)
		}
		v.Hide("", text.String(), all)
	}
	data, err := os.ReadFile(path)
	if n := bytes.Count(data, []byte("\n")); err != nil || n > 2*maxEntries+2000 {
		t.Errorf("%d lines of %d tokens, %v", n, len(v.byToken), err)
	}
}

// A call with a token many times that may not go there, beside many results, does
// not keep others waiting.
func TestRevealEnds(t *testing.T) {
	v := New("", fixed, quiet())
	token := v.Hide("", "kim@example.com", all)
	for range 800 {
		v.Saw("", "mail", bytes.Repeat([]byte("x"), 10<<10))
	}
	began := time.Now()
	_, err := v.Reveal("", "mail", args(strings.Repeat(token, 20_000)), false)
	if _, foreign := errors.AsType[*ForeignError](err); !foreign || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// Two principals that see the same values at the same time get nothing of each
// other.
func TestPrincipalsNeverCross(t *testing.T) {
	v := New(filepath.Join(t.TempDir(), "tokens.sealed"), fixed, quiet())
	var wg sync.WaitGroup
	var owned sync.Map
	for i := range 1000 {
		wg.Go(func() {
			me, other := "ann", "bob"
			if i%2 == 1 {
				me, other = other, me
			}
			mail := fmt.Sprintf("kim%d@example.com", i/2%50)
			v.Saw(me, "crm-"+me, []byte(mail))
			token := v.Hide(me, mail, all)
			if was, loaded := owned.LoadOrStore(token, me); loaded && was != me {
				t.Errorf("%s is the token of both", token)
			}
			if got, err := v.Reveal(me, "crm-"+me, args(token), false); string(got) != string(args(mail)) {
				t.Errorf("%s: %s, %v", me, got, err)
			}
			if got, err := v.Reveal(other, "crm-"+me, args(token), true); err == nil {
				t.Errorf("%s got %s of %s", other, got, me)
			}
			if got, err := v.Reveal(me, "crm-"+other, args(token), false); err == nil {
				t.Errorf("%s got %s for another server", me, got)
			}
		})
	}
	wg.Wait()
}

// A ring is a keyring that does not work, or one that does.
type ring struct {
	values map[string]string
	broken error
}

var errAbsent = errors.New("absent")

func (r *ring) Get(name string) (string, error) {
	if v, ok := r.values[name]; ok || r.broken != nil {
		return v, r.broken
	}
	return "", errAbsent
}

func (r *ring) Set(name, value string) error { r.values[name] = value; return r.broken }

// Any broker gives back what another one has hidden.
func TestBrokersShareTokens(t *testing.T) {
	at, key := t.TempDir(), state.NewKey()
	open := func(keys ...[]byte) *Vault {
		docs, err := state.Seal(files.OpenDocuments(at), keys...)
		if err != nil {
			t.Fatal(err)
		}
		return NewShared(docs, keys[0], quiet())
	}
	one, two := open(key), open(key)
	one.Saw("ann", "crm", []byte(`{"mail":"kim@example.com"}`))
	token := one.Hide("ann", "kim@example.com", all)
	if again := two.Hide("ann", "kim@example.com", all); again != token {
		t.Errorf("the other one has the token %q, not %q", again, token)
	}
	if got, err := two.Reveal("ann", "crm", args(token), false); string(got) != string(args("kim@example.com")) {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := two.Reveal("ann", "mail", args(token), false); !errors.As(err, new(*ForeignError)) {
		t.Errorf("for another server: %v", err)
	}
	if _, err := two.Reveal("bob", "crm", args(token), true); !errors.Is(err, ErrUnknown) {
		t.Errorf("for another principal: %v", err)
	}
	// One by one, until they become one document; nothing is lost, and what another key
	// has sealed is left alone.
	stranger := open(state.NewKey())
	stranger.Hide("ann", "stranger@example.com", all)
	var given []string
	for n := range maxNotes + 10 {
		given = append(given, []*Vault{one, two}[n%2].Hide("ann", fmt.Sprintf("kim%d@example.com", n), all))
	}
	fresh := open(state.NewKey(), key) // after a change of keys
	for n, token := range append(given, token) {
		want := args(fmt.Sprintf("kim%d@example.com", n))
		if n == len(given) {
			want = args("kim@example.com")
		}
		if got, err := fresh.Reveal("ann", "", args(token), true); string(got) != string(want) {
			t.Errorf("%s: %s, %v", token, got, err)
		}
	}
	if got, err := stranger.Reveal("ann", "", args(stranger.Hide("ann", "stranger@example.com", all)), true); err != nil {
		t.Errorf("%s, %v", got, err)
	}
	entries, err := os.ReadDir(at)
	if err != nil || len(entries) > maxNotes+10 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		if text, err := os.ReadFile(filepath.Join(at, e.Name())); err != nil || bytes.Contains(text, []byte("example.com")) {
			t.Errorf("%s has the value, %v", e.Name(), err)
		}
	}
}

// A database that is away keeps nobody from hiding, and is not asked all the time.
func TestTokensWithoutTheDatabase(t *testing.T) {
	docs := &away{}
	v := NewShared(docs, state.NewKey(), quiet())
	token := v.Hide("ann", "kim@example.com", all)
	if !tokens.MatchString(token) {
		t.Errorf("%q is no token", token)
	}
	for range 10 {
		if got, err := v.Reveal("ann", "", args(token), true); string(got) != string(args("kim@example.com")) {
			t.Errorf("%s, %v", got, err)
		}
	}
	if docs.asked > 1 {
		t.Errorf("it was asked %d times", docs.asked)
	}
}

type away struct {
	state.Documents
	asked int
}

func (a *away) ListDocuments(context.Context, string) ([]state.DocumentInfo, error) {
	a.asked++
	return nil, errors.New("away")
}

func TestKeyIsInTheKeyringOrInAFile(t *testing.T) {
	for broken, inFile := range map[error]bool{nil: false, errors.New("no keyring"): true} {
		path := filepath.Join(t.TempDir(), "key")
		r := &ring{values: map[string]string{}, broken: broken}
		one, err1 := Key(path, r, "k", errAbsent)()
		two, err2 := Key(path, r, "k", errAbsent)()
		if err1 != nil || err2 != nil || len(one) != 32 || !bytes.Equal(one, two) {
			t.Errorf("%v: %x, %v; %x, %v", broken, one, err1, two, err2)
		}
		info, err := os.Stat(path)
		if (err == nil) != inFile || inFile && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%v: the file: %v, %v", broken, info, err)
		}
	}
}

// BenchmarkHide is what an answer of 12 kB without anything to hide costs, and
// one with an address.
func BenchmarkHide(b *testing.B) {
	row := `{"id":12345,"title":"Fix the key of the map","url":"https://example.com/issues/1?page=2","author":"Kim Lee","at":"2026-11-23T12:51:11Z","body":"See the list of 12 entries (open)."},`
	plain := "[" + strings.Repeat(row, 12<<10/len(row)) + "{}]"
	for name, text := range map[string]string{"plain": plain, "secrets only": plain, "address": strings.Replace(plain, "{}", `{"mail":"kim@example.com"}`, 1)} {
		b.Run(name, func(b *testing.B) {
			v := New(filepath.Join(b.TempDir(), "tokens"), fixed, quiet())
			b.ReportAllocs()
			for b.Loop() {
				v.Hide("", text, Settings{Secrets: true, Personal: name != "secrets only"})
			}
		})
	}
}

// A person sees the length of the value of each token.
func TestTokensAreDescribed(t *testing.T) {
	v := New("", nil, quiet())
	set := all
	text := v.Hide("ann", `{"a":"zoë@example.org.uk","b":"ghp_abcdefghijklmnopqrstuvwxyz0123456789"}`, set)
	if strings.Contains(text, "zoë@") || strings.Contains(text, "ghp_") {
		t.Fatalf("hidden: %s", text)
	}
	for _, args := range []string{text, strings.ReplaceAll(text, "«", `\u00ab`), `{"a":"x` + strings.ReplaceAll(text, `"`, "'") + `y"}`} {
		got := string(v.Describe("ann", []byte(args)))
		if strings.Count(got, " characters)") != 2 || !strings.Contains(got, " (40 characters)") {
			t.Errorf("%s is described as %s", args, got)
		}
		if other := string(v.Describe("bob", []byte(args))); other != args {
			t.Errorf("another client sees %s", other)
		}
	}
}

// A script cannot have a token made of a text, to hide the text from the person who
// approves a call with the token.
func TestTokensOfTextsAreShown(t *testing.T) {
	v := New("", nil, quiet())
	for _, text := range []string{"password=drop/table/users", "--token=rm_-rf_/home", "Authorization: Basic send/all/money/to/mallory1", "passphrase=pay-mallory-1000-now", "ghp_delete_all_the_backups_1"} {
		args := v.Hide("ann", fmt.Sprintf(`{"a":%q}`, text), all)
		if !HasTokens([]byte(args)) {
			t.Errorf("%s has no token: %s", text, args)
			continue
		}
		value := text[strings.LastIndexAny(text, "= ")+1:]
		got := v.Describe("ann", []byte(args))
		var shown map[string]string
		if err := json.Unmarshal(got, &shown); err != nil || !strings.Contains(shown["a"], value) {
			t.Errorf("%s is shown as %s, %v", text, got, err)
		}
	}
}
