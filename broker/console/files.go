package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

var types = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}

// readFile returns a file of dist, and whether it is compressed: scripts and styles have
// the extension .gz there.
func readFile(name string) (data []byte, compressed bool, err error) {
	if data, err = fs.ReadFile(dist, path.Join("dist", name)); err == nil {
		return data, false, nil
	}
	data, err = fs.ReadFile(dist, path.Join("dist", name+".gz"))
	return data, true, err
}

// serveFile serves a file of dist, compressed if it is and the client accepts it.
func serveFile(w http.ResponseWriter, r *http.Request, name string) {
	if name == "" {
		name = "index.html"
	}
	data, compressed, err := readFile(name)
	if err != nil {
		notFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", types[path.Ext(name)]) // independent of the machine's MIME types
	h.Set("Cache-Control", "no-cache")
	tag := buildID()
	switch {
	case compressed && acceptsGzip(r):
		h.Set("Content-Encoding", "gzip")
		tag += "-gzip"
	case compressed:
		if data, err = decompress(data); err != nil { // embedded: it is valid
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	if compressed {
		h.Set("Vary", "Accept-Encoding")
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}

func decompress(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// acceptsGzip reports whether the client accepts gzip: see RFC 9110, section 12.5.3.
func acceptsGzip(r *http.Request) bool {
	for _, list := range r.Header.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(list, ",") {
			coding, weight, weighted := strings.Cut(part, ";")
			coding = strings.ToLower(strings.TrimSpace(coding))
			if coding != "gzip" && coding != "x-gzip" {
				continue
			}
			_, value, _ := strings.Cut(weight, "=")
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return !weighted || err == nil && q > 0
		}
	}
	return false
}

// buildID is a digest of the files.
var buildID = sync.OnceValue(func() string {
	h := sha256.New()
	_ = fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, _ := fs.ReadFile(dist, name) // embedded: it is there
			_, _ = h.Write(data)
		}
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:8])
})
