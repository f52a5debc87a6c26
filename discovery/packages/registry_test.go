package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
)

// A registry serves packages to the real npm.
type registry struct {
	*httptest.Server
	mu       sync.Mutex
	packages map[string]map[string][]byte // tarballs by version
	latest   map[string]string
	asked    int
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("needs npm: ", err)
	}
	r := &registry{packages: make(map[string]map[string][]byte), latest: make(map[string]string)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// publish adds a version of a package, which has these files beside its
// package.json; rest are more fields of that.
func (r *registry) publish(t *testing.T, name, version, rest string, files map[string]string) {
	t.Helper()
	files["package.json"] = fmt.Sprintf(`{"name": %q, "version": %q %s}`, name, version, rest)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for path, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: "package/" + path, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	z.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.packages[name] == nil {
		r.packages[name] = make(map[string][]byte)
	}
	r.packages[name][version], r.latest[name] = b.Bytes(), version
}

// publishGreeter adds a package whose program prints its version, its arguments
// and how it is called.
func (r *registry) publishGreeter(t *testing.T, name, version string) {
	t.Helper()
	r.publish(t, name, version, `, "bin": "./bin/greet.js"`, map[string]string{
		"bin/greet.js": "#!/usr/bin/env node\nconsole.log('" + version + "', ...process.argv.slice(2))\n",
	})
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	name, file, tarball := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/-/")
	versions := r.packages[name]
	if versions == nil {
		http.NotFound(w, req)
		return
	}
	if tarball {
		_, _ = w.Write(versions[strings.TrimSuffix(file, ".tgz")])
		return
	}
	all := make(map[string]any)
	for v, data := range versions {
		sum := sha512.Sum512(data)
		var m map[string]any
		z, _ := gzip.NewReader(bytes.NewReader(data)) // made above
		for tr := tar.NewReader(z); ; {
			h, err := tr.Next()
			if err != nil {
				break
			}
			if h.Name == "package/package.json" {
				_ = json.NewDecoder(tr).Decode(&m)
			}
		}
		m["dist"] = map[string]any{"tarball": r.URL + "/" + name + "/-/" + v + ".tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		all[v] = m
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "versions": all, "dist-tags": map[string]string{"latest": r.latest[name]}})
}

func (r *registry) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// command is one that asks this registry, with a cache of its own.
func (r *registry) command(t *testing.T, args ...string) launch.Command {
	t.Helper()
	home := t.TempDir()
	return launch.Command{Program: "npx", Args: args, Dir: t.TempDir(), Env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "npm_config_registry=" + r.URL, "npm_config_cache=" + filepath.Join(home, "cache"),
		"npm_config_fetch_retries=0",
	}}
}

func newStore(t *testing.T, dir string) *Store {
	t.Helper()
	s := Open(dir, nil)
	t.Cleanup(s.Close)
	return s
}

// prints is what a command prints.
func prints(t *testing.T, c launch.Command) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.Program, c.Args...)
	cmd.Env, cmd.Dir, cmd.Stderr = c.Env, c.Dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v", cmd.Args, err)
	}
	return strings.TrimSpace(string(out))
}
