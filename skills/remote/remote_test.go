package remote_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/pack"
	"github.com/mcpbroker/mcpbroker/skills/remote"
)

const text = "---\nname: poem\ndescription: Writes poems.\n---\n\nRhyme.\n"

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return skills.Digest(sum[:])
}

// host serves an index and files.
func host(t *testing.T, index any, files map[string][]byte) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == remote.Path {
			if err := json.NewEncoder(w).Encode(index); err != nil {
				t.Error(err)
			}
			return
		}
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://localhost:1/poem.zip", http.StatusFound)
			return
		}
		data, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if _, err := w.Write(data); err != nil {
			t.Log(err) // the client may have had enough
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestFetchVerifiesDigests(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "poem")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	if err := errors.Join(z.AddFS(os.DirFS(dir)), z.Close()); err != nil {
		t.Fatal(err)
	}
	packed := digest(archive.Bytes())
	entries := []remote.Entry{
		{Name: "poem", Type: remote.TypeArchive, URL: "files/poem.zip", Digest: packed},
		{Name: "text", Type: remote.TypeFile, URL: "/poem.md", Digest: digest([]byte(text))},
		{Name: "changed", Type: remote.TypeFile, URL: "/poem.md", Digest: packed},
		{Name: "moved", Type: remote.TypeFile, URL: "/away", Digest: packed},
		{Name: "huge", Type: remote.TypeFile, URL: "/huge.md", Digest: packed},
		{Name: "gone", Type: remote.TypeArchive, URL: "/gone.zip", Digest: packed},
		{Name: "elsewhere", Type: remote.TypeFile, URL: "https://other.example.com/x.md", Digest: packed},
		{Name: "odd", Type: "oci", URL: "/x", Digest: packed},
		{Name: "loose", Type: remote.TypeFile, URL: "/poem.md", Digest: "sha256:1"},
		{Name: "rar", Type: remote.TypeArchive, URL: "/poem.rar", Digest: packed},
	}
	server := host(t, remote.Index{Schema: remote.Schema, Skills: entries}, map[string][]byte{
		"/.well-known/agent-skills/files/poem.zip": archive.Bytes(), "/poem.md": []byte(text), "/huge.md": make([]byte, skills.MaxFileBytes+2),
	})
	c, err := remote.New(server.URL, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	index, notes, err := c.Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(index.Skills) != 6 || len(notes) != 4 {
		t.Errorf("%d skills and notes %q", len(index.Skills), notes)
	}
	for i, want := range []string{"", "", "has the digest", "is not on", "larger than", "404"} {
		to := t.TempDir()
		path, err := c.Fetch(t.Context(), index.Skills[i], to)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", entries[i].Name, err)
				continue
			}
			got, err := pack.Install(filepath.Join(to, "installed"), path, pack.Options{})
			if err != nil || got.Name != "poem" {
				t.Errorf("install %s: %+v, %v", entries[i].Name, got, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", entries[i].Name, err, want)
		}
		for _, left := range []string{"skill.zip", "skill.zip.part", "skill/SKILL.md", "skill/SKILL.md.part"} {
			if _, err := os.Stat(filepath.Join(to, left)); err == nil {
				t.Errorf("%s: %s was left", entries[i].Name, left)
			}
		}
	}
}

func TestAddressesAndSchemas(t *testing.T) {
	for _, bad := range []string{"", "example.com", "http://example.com", "ftp://localhost", "::"} {
		if _, err := remote.New(bad, time.Second); err == nil {
			t.Errorf("New(%q) works", bad)
		}
	}
	for schema, want := range map[string]string{"": "no $schema", "https://example.com/9": "unknown $schema"} {
		c, err := remote.New(host(t, remote.Index{Schema: schema}, nil).URL, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Index(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("schema %q: %v, want %q in it", schema, err, want)
		}
	}
}

// What is taken of any list is on its own host, and has a digest.
func FuzzIndex(f *testing.F) {
	digest := "sha256:" + strings.Repeat("0", 64)
	f.Add(`{"$schema":"` + remote.Schema + `","skills":[{"name":"a","type":"skill-md","url":"/a","digest":"` + digest + `"}]}`)
	f.Add(`{"$schema":"` + remote.Schema + `","skills":[{"name":"a","type":"archive","url":"//elsewhere/a.zip","digest":"` + digest + `"}]}`)
	f.Add(`{"$schema":"` + remote.Schema + `","skills":[{"name":"a","type":"archive","url":"http://u@127.0.0.1/a.zip","digest":"sha256:x"},null,{}]}`)
	f.Add(`{"$schema":1}`)
	f.Add(`[`)
	var body atomic.Pointer[string]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, *body.Load()) }))
	f.Cleanup(s.Close)
	c, err := remote.New(s.URL, time.Minute)
	if err != nil {
		f.Fatal(err)
	}
	base, err := url.Parse(s.URL)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body.Store(&text)
		index, _, err := c.Index(t.Context())
		if err != nil {
			return
		}
		for _, e := range index.Skills {
			u, err := base.Parse(e.URL)
			if err != nil || u.Host != base.Host || u.Scheme != "http" || e.Name == "" || len(e.Digest) != len(digest) {
				t.Errorf("%q gives %+v", text, e)
			}
		}
	})
}
