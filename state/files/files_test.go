package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func put(t *testing.T, c *Client, mime, data string) string {
	t.Helper()
	ref, err := c.Put(mime, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func TestResultsBelongToOneClient(t *testing.T) {
	s := Open(t.TempDir(), nil)
	alice, local := s.Client("alice"), s.Client(Local)
	ref := put(t, alice, JSON, `{"a":1}`)
	item, data, err := alice.Get(ref)
	if err != nil || string(data) != `{"a":1}` || item.MIME != JSON || item.Bytes != 7 || item.Client != "alice" {
		t.Fatalf("Get = %+v %s %v", item, data, err)
	}
	for _, c := range []*Client{local, s.Client("bob"), s.Client("local"), s.Client("Alice")} {
		if _, _, err := c.Get(ref); !errors.Is(err, ErrNotFound) {
			t.Errorf("client %q: Get = %v, want ErrNotFound", c.Name(), err)
		}
		if err := c.Remove(ref); !errors.Is(err, ErrNotFound) {
			t.Errorf("client %q: Remove = %v, want ErrNotFound", c.Name(), err)
		}
		if list, err := c.List(); err != nil || len(list) != 0 {
			t.Errorf("client %q: List = %v, %v", c.Name(), list, err)
		}
	}
	put(t, local, Text, "x")
	clients, err := s.Clients()
	var names []string
	for _, c := range clients {
		names = append(names, c.Name())
	}
	if slices.Sort(names); err != nil || !slices.Equal(names, []string{"", "alice"}) {
		t.Errorf("Clients = %q, %v", names, err)
	}
	if err := alice.Remove(ref); err != nil {
		t.Error(err)
	}
	if _, _, err := alice.Get(ref); !errors.Is(err, ErrNotFound) {
		t.Errorf("after Remove: %v", err)
	}
}

func TestOnlyReferencesAreFiles(t *testing.T) {
	dir := t.TempDir()
	c := Open(dir, nil).Client(Local)
	put(t, c, JSON, `1`)
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("{}\nx"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"", ".", "../../secret", "r_", "r_../../../secret", strings.Repeat("r", 1000), "r_aaaaaaaaaaaaaaaaaaaaaaaaaa"} {
		if _, _, err := c.Get(ref); !errors.Is(err, ErrNotFound) {
			t.Errorf("Get(%.40q) = %v", ref, err)
		}
		if err := c.Remove(ref); !errors.Is(err, ErrNotFound) {
			t.Errorf("Remove(%.40q) = %v", ref, err)
		}
	}
}

func TestFilesAreTheUsersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	c := Open(dir, nil).Client("alice")
	put(t, c, Text, "x")
	if err := c.SetValue("k", json.RawMessage(`1`)); err != nil {
		t.Fatal(err)
	}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s is %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	s := Open(dir, &Options{MaxBytes: 170, MaxAge: time.Hour, MaxValueAge: time.Hour})
	c := s.Client(Local)
	age := func(ref string, d time.Duration) string {
		at := time.Now().Add(-d)
		if err := os.Chtimes(filepath.Join(dir, "local", "results", ref), at, at); err != nil {
			t.Fatal(err)
		}
		return ref
	}
	small := strings.Repeat("x", 20)
	old := age(put(t, c, Text, "old"), 2*time.Hour)
	if _, _, err := c.Get(old); !errors.Is(err, ErrNotFound) {
		t.Errorf("a result that is too old is still there: %v", err)
	}
	second := age(put(t, c, Text, small), 2*time.Minute)
	first := age(put(t, c, Text, small), time.Minute)
	w, err := c.Create(Text)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetValue("gone", json.RawMessage(`1`)); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(c.file("gone"), at, at); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Value("gone"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a value that is too old is still there: %v", err)
	}
	newest := put(t, c, Text, small)
	s.Sweep()
	if _, err := w.Commit(); err != nil {
		t.Errorf("what is being written was swept away: %v", err)
	}
	for ref, want := range map[string]bool{old: false, second: false, first: true, newest: true} {
		if _, _, err := c.Get(ref); (err == nil) != want {
			t.Errorf("%s: %v, want there: %t", ref, err, want)
		}
	}
	if _, err := os.Stat(c.file("gone")); err == nil {
		t.Error("an old value was not removed")
	}
}

func TestOneClientsFloodSparesTheOthers(t *testing.T) {
	s := Open(t.TempDir(), &Options{MaxBytes: 170})
	alice := s.Client("alice")
	ref := put(t, alice, Text, "hers")
	for range 20 {
		put(t, s.Client("bob"), Text, strings.Repeat("x", 50))
	}
	s.Sweep()
	if _, _, err := alice.Get(ref); err != nil {
		t.Errorf("another client's results removed it: %v", err)
	}
	if ref, err := alice.Put(Text, make([]byte, 170)); err == nil || ref != "" {
		t.Errorf("Put of more than fits = %q, %v; want it refused", ref, err)
	}
}

func TestValues(t *testing.T) {
	s := Open(t.TempDir(), &Options{MaxValueBytes: 10, MaxKeys: 3, MaxValuesBytes: 200})
	c := s.Client(Local)
	if _, err := c.Value("a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Value of nothing = %v", err)
	}
	for _, k := range []string{"b", "a", "../x/\x00ü"} {
		if err := c.SetValue(k, json.RawMessage(`{"n":1}`)); err != nil {
			t.Errorf("SetValue(%q): %v", k, err)
		}
	}
	if err := c.SetValue("a", json.RawMessage(`123`)); err != nil {
		t.Errorf("set again: %v", err)
	}
	if v, err := c.Value("a"); string(v) != "123" || err != nil {
		t.Errorf("Value = %s, %v", v, err)
	}
	if keys, err := c.Keys(); err != nil || !slices.Equal(keys, []string{"../x/\x00ü", "a", "b"}) {
		t.Errorf("Keys = %q, %v", keys, err)
	}
	if keys, err := s.Client("other").Keys(); err != nil || len(keys) != 0 {
		t.Errorf("keys of another client: %q, %v", keys, err)
	}
	for _, tt := range []struct{ key, value, want string }{
		{"", `1`, "empty"},
		{strings.Repeat("k", 257), `1`, "257 characters; at most 256"},
		{"a", `"0123456789"`, "12 bytes; at most 10"},
		{"d", `1`, "3 keys; at most 3"},
	} {
		if err := c.SetValue(tt.key, json.RawMessage(tt.value)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("SetValue(%.20q, %s) = %v, want %q", tt.key, tt.value, err, tt.want)
		}
	}
	if was, err := c.DeleteValue("b"); !was || err != nil {
		t.Errorf("DeleteValue = %t, %v", was, err)
	}
	if was, err := c.DeleteValue("b"); was || err != nil {
		t.Errorf("second DeleteValue = %t, %v", was, err)
	}
	tight := Open(t.TempDir(), &Options{MaxValuesBytes: 60}).Client(Local)
	if err := tight.SetValue("a", json.RawMessage(`"`+strings.Repeat("x", 30)+`"`)); err != nil {
		t.Fatal(err)
	}
	if err := tight.SetValue("b", json.RawMessage(`"`+strings.Repeat("x", 30)+`"`)); err == nil || !strings.Contains(err.Error(), "all values together") {
		t.Errorf("SetValue over the total = %v", err)
	}
}

func TestManyProcessesShareOneDirectory(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			c := Open(dir, nil).Client(Local)
			for j := range 25 {
				ref, err := c.Put(JSON, []byte(`[1]`))
				if err != nil {
					t.Errorf("Put: %v", err)
				}
				if _, _, err := c.Get(ref); err != nil {
					t.Errorf("Get: %v", err)
				}
				if err := c.SetValue("shared", json.RawMessage(fmt.Sprintf(`"%d"`, i*100+j))); err != nil {
					t.Errorf("SetValue: %v", err)
				}
				if v, err := c.Value("shared"); err != nil || !json.Valid(v) {
					t.Errorf("Value = %s, %v", v, err)
				}
			}
		})
	}
	wg.Wait()
	if list, err := Open(dir, nil).Client(Local).List(); err != nil || len(list) != 100 {
		t.Errorf("%d results, %v", len(list), err)
	}
}

func TestSlice(t *testing.T) {
	const doc = `{"total": 3, "items":[{"z":1,"a":12345678901234567890},{"title":"bär"},[1,2,3]],"a.b":{"/":true}}`
	tests := []struct {
		mime, data string
		part       Part
		want       string // JSON, or the end of an error
	}{
		{JSON, doc, Part{}, doc},
		{JSON, doc, Part{Path: "$"}, doc},
		{JSON, doc, Part{Path: "items[0]"}, `{"z":1,"a":12345678901234567890}`},
		{JSON, doc, Part{Path: "$.items[1].title"}, `"bär"`},
		{JSON, doc, Part{Path: "items.2.1"}, `2`},
		{JSON, doc, Part{Path: "/items/2/1"}, `2`},
		{JSON, doc, Part{Path: `["a.b"]["/"]`}, `true`},
		{JSON, doc, Part{Path: "/a.b/~1"}, `true`},
		{JSON, doc, Part{Path: "items", Offset: 1, Limit: 1}, `[{"title":"bär"}]`},
		{JSON, doc, Part{Path: "items[2]", Offset: 1}, `[2,3]`},
		{JSON, doc, Part{Path: "items[2]", Limit: 2}, `[1,2]`},
		{JSON, doc, Part{Path: "items[2]", Offset: 9}, `[]`},
		{JSON, doc, Part{Path: "items[1].title", Offset: 1, Limit: 1}, `"ä"`},
		{JSON, doc, Part{Path: "item"}, `!path "item": at "item": there is no "item"; here is an object with a.b, items, total`},
		{JSON, doc, Part{Path: "items[7]"}, `!there are only 3 elements`},
		{JSON, doc, Part{Path: "items[-1]"}, `!there are only 3 elements`},
		{JSON, doc, Part{Path: "items.x"}, `!here is an array of 3; use an index`},
		{JSON, doc, Part{Path: "total.x"}, `!here is 3, which has no parts`},
		{JSON, doc, Part{Path: "items[0"}, `!a bracket is not closed`},
		{JSON, doc, Part{Limit: 1}, `!here is an object with a.b, items, total`},
		{JSON, doc, Part{Offset: -1}, `!offset and limit are 0 or more`},
		{Text, "hällo", Part{}, `"hällo"`},
		{Text, "hällo", Part{Offset: 1, Limit: 2}, `"äl"`},
		{Text, "hällo", Part{Offset: 10}, `""`},
		{Text, "hällo", Part{Path: "x"}, `!use offset and limit, in characters`},
	}
	for _, tt := range tests {
		got, err := Slice(Item{MIME: tt.mime}, []byte(tt.data), tt.part)
		if want, isError := strings.CutPrefix(tt.want, "!"); isError {
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("Slice(%+v) = %s, %v, want error %q", tt.part, got, err, want)
			}
		} else if err != nil || string(got) != tt.want {
			t.Errorf("Slice(%+v) = %s, %v, want %s", tt.part, got, err, tt.want)
		}
	}
}

// What is read of a result is bounded in bytes, and ends with its context.
func TestPartsAreBounded(t *testing.T) {
	c := Open(t.TempDir(), nil).Client(Local)
	text := put(t, c, Text, strings.Repeat("bär ", 1<<20))
	doc := put(t, c, JSON, strings.Repeat("[", 50)+`"`+strings.Repeat("x", 1<<20)+`"`+strings.Repeat("]", 50))
	for _, tt := range []struct {
		ref  string
		part Part
		want string // the value, or the end of an error
	}{
		{text, Part{Offset: 4<<20 - 4}, `"bär "`},
		{text, Part{}, "choose less with offset and limit"},
		{text, Part{Limit: 2000}, "choose less with offset and limit"},
		{doc, Part{}, "choose less with path, offset and limit"},
		{doc, Part{Path: strings.Repeat("[0]", 50), Limit: 3}, `"xxx"`},
		{doc, Part{Path: strings.Repeat("[0]", 50)}, "choose less with path, offset and limit"},
	} {
		_, v, err := c.Part(t.Context(), tt.ref, tt.part, 1000)
		if err != nil && !strings.HasSuffix(err.Error(), tt.want) || err == nil && string(v) != tt.want {
			t.Errorf("%.20q %d %d: %.100s, %v; want %s", tt.part.Path, tt.part.Offset, tt.part.Limit, v, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for ref, part := range map[string]Part{text: {Offset: 1}, doc: {Path: "[0]"}} {
		if _, _, err := c.Part(ctx, ref, part, 1000); !errors.Is(err, context.Canceled) {
			t.Errorf("after its end: %v", err)
		}
	}
}

// Keys are listed without the values, which may be long.
func TestKeysAreReadWithoutTheirValues(t *testing.T) {
	dir := t.TempDir()
	for _, k := range []string{"b", "a"} {
		if err := Open(dir, nil).Client(Local).SetValue(k, json.RawMessage(`"`+strings.Repeat("x", 100_000)+`"`)); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "local", "values", "*"))
	for _, f := range files {
		if err := os.Truncate(f, 1000); err != nil { // whoever reads the value fails
			t.Fatal(err)
		}
	}
	c := Open(dir, nil).Client(Local)
	for range 2 {
		if keys, err := c.Keys(); err != nil || !slices.Equal(keys, []string{"a", "b"}) {
			t.Errorf("keys %q, %v", keys, err)
		}
	}
	if _, err := c.DeleteValue("a"); err != nil {
		t.Fatal(err)
	}
	if keys, err := c.Keys(); err != nil || !slices.Equal(keys, []string{"b"}) {
		t.Errorf("after a deletion: %q, %v", keys, err)
	}
}

func FuzzSlicePath(f *testing.F) {
	for _, p := range []string{"", "$", "a[0]", "/a/~0", "..", "[", "]", "[]", "a..b", `["x"]`, "[[0]]"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		v, err := Slice(Item{MIME: JSON}, []byte(`{"a":[1,{"b":2}]}`), Part{Path: path})
		if err == nil && !json.Valid(v) {
			t.Errorf("Slice(%q) = %q", path, v)
		}
	})
}
