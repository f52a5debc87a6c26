package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// server.json, the npm packages and the Homebrew formula follow their schemas, and
// name the files and checksums of the release.
func TestListings(t *testing.T) {
	r, err := newRelease(t.TempDir(), testVersion)
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range allTargets {
		programs := []file{{name: "broker", data: []byte(system.String()), mode: 0o755}}
		if err := r.pack(system, programs); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(r.npmWrapper(), r.plugin(), r.serverJSON(), r.formula(), r.checksums()); err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{} // by the address of the file
	for line := range strings.Lines(read(t, filepath.Join(r.out, "SHA256SUMS"))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[r.download(name)] = sum
	}
	t.Run("server.json", func(t *testing.T) { r.testServerJSON(t, sums) })
	t.Run("formula", func(t *testing.T) { r.testFormula(t, sums) })
	t.Run("README", r.testReadmes)
	t.Run("docs/install.md", func(t *testing.T) { r.testInstallPage(t, sums) })
}

// testInstallPage checks that the files on the page are those of the release, with V in
// place of the version.
func (r *release) testInstallPage(t *testing.T, sums map[string]string) {
	page := read(t, filepath.Join(r.root, "docs/install.md"))
	page, _, _ = strings.Cut(page, "\n## Verify")
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`((?:broker_|mcpbroker[-_.])[^` ]+)`").FindAllStringSubmatch(page, -1) {
		named[m[1]] = true
		made := slices.ContainsFunc([]string{r.version, "1.2.3~rc.1", "1.2.3_rc1"}, func(v string) bool {
			_, ok := sums[r.download(strings.Replace(strings.Replace(m[1], "_V", "_"+v, 1), "-V", "-"+v, 1))]
			return ok
		})
		if !made && m[1] != "mcpbroker.rb" {
			t.Errorf("the release has no %s", m[1])
		}
	}
	for address := range sums {
		name := strings.NewReplacer(r.version, "V", "1.2.3~rc.1", "V", "1.2.3_rc1", "V").Replace(path.Base(address))
		if !named[name] && path.Ext(name) != ".mcpb" && name != "server.json" {
			t.Errorf("the page does not name %s", name)
		}
	}
}

// testReadmes checks that every package has a README about its use, without broken
// links and with the first steps of its readers.
func (r *release) testReadmes(t *testing.T) {
	begin := map[string]string{ // by a pattern of the files' names
		`^broker_.*\.(tar\.gz|zip)$`:      "`broker` and `broker-worker` in one directory",
		`^broker_.*_claude-plugin\.zip$`:  "install it first",
		`^broker_.*\.mcpb$`:               "It asks for `servers.json`",
		`^mcpbroker-broker-1.*\.tgz$`:     "npm install --global @mcpbroker/broker\n",
		`^mcpbroker-broker-[a-z].*\.tgz$`: "The programs of [@mcpbroker/broker]",
		`^mcpbroker_.*\.deb$`:             "Begin as your own user",
		`^broker_.*\.oci\.tar$`:           "docker run --rm -i",
	}
	entries, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	for _, e := range entries {
		kind := ""
		for pattern := range begin {
			if regexp.MustCompile(pattern).MatchString(e.Name()) && len(pattern) > len(kind) {
				kind = pattern
			}
		}
		if kind == "" {
			continue
		}
		seen[kind]++
		text := readmeIn(t, filepath.Join(r.out, e.Name()))
		if !strings.HasPrefix(text, "# ") || !strings.Contains(text, begin[kind]) || !strings.Contains(text, homepage) {
			t.Errorf("README.md of %s does not say %q:\n%s", e.Name(), begin[kind], text)
		}
		for _, m := range regexp.MustCompile(`go (?:run|test|install|build)|Go 1\.|VERSION|SYSTEM|PACKAGE\b|HOMEPAGE|\]\([^h]`).FindAllString(text, -1) {
			t.Errorf("README.md of %s has %q:\n%s", e.Name(), m, text)
		}
	}
	if len(seen) != len(begin) {
		t.Errorf("packages of the kinds %v, want each of %d", seen, len(begin))
	}
}

// readmeIn returns README.md of a package: an archive, or one with a data archive or
// layers in it.
func readmeIn(t *testing.T, name string) string {
	t.Helper()
	data := []byte(read(t, name))
	if strings.HasPrefix(string(data), "PK") {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		text, err := fs.ReadFile(z, "README.md")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return string(text)
	}
	if _, rest, ok := bytes.Cut(data, []byte("data.tar.gz")); ok { // a member of ar: a header of 60 bytes
		data = rest[60-len("data.tar.gz"):]
	}
	if text, ok := readmeInTar(t, name, data); ok {
		return text
	}
	t.Fatalf("%s has no README.md", name)
	return ""
}

func readmeInTar(t *testing.T, name string, data []byte) (string, bool) {
	t.Helper()
	var in io.Reader = bytes.NewReader(data)
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		z, err := gzip.NewReader(in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		z.Multistream(false)
		in = z
	}
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if err == io.EOF {
			return "", false
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if path.Base(h.Name) == "README.md" {
			return string(text), true
		}
		if strings.HasPrefix(h.Name, "blobs/") && bytes.HasPrefix(text, []byte("\x1f\x8b")) {
			return readmeInTar(t, name, text)
		}
	}
}

// testdata/registry has the schema and the license of
// github.com/modelcontextprotocol/registry v1.8.7.
func (r *release) testServerJSON(t *testing.T, sums map[string]string) {
	var schema jsonschema.Schema
	unmarshal(t, read(t, "testdata/registry/server.schema.json"), &schema)
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, filepath.Join(r.out, "server.json"))
	var entry map[string]any
	unmarshal(t, text, &entry)
	if err := resolved.Validate(entry); err != nil {
		t.Errorf("server.json is not as its schema says: %v", err)
	}
	if entry["$schema"] != schema.ID {
		t.Errorf("server.json names the schema %v, the test has %s", entry["$schema"], schema.ID)
	}
	var server struct {
		Name     string
		Packages []struct {
			RegistryType, Identifier, Version, FileSHA256 string
			RuntimeArguments                              []struct{ Value string }
		}
	}
	unmarshal(t, text, &server)
	bundles := 0
	for _, p := range server.Packages {
		switch p.RegistryType {
		case "npm":
			if got := r.npmSays(t, p.Identifier); got.Name != p.Identifier || got.Version != p.Version || got.MCPName != server.Name {
				t.Errorf("the npm package says %+v, server.json %s and %+v", got, server.Name, p)
			}
		case "oci":
			image := r.imageSays(t)
			if image.RepoTag != p.Identifier || image.Server != server.Name {
				t.Errorf("the image says %+v, server.json %s and %+v", image, server.Name, p)
			}
			if len(p.RuntimeArguments) != 1 || !strings.Contains(p.RuntimeArguments[0].Value, ",dst="+image.ConfigHome+"/broker/servers.json,") {
				t.Errorf("servers.json is not mounted where the image reads it: %+v", p)
			}
			if p.Version != "" || p.FileSHA256 != "" {
				t.Errorf("the registry refuses a version or a checksum of an image: %+v", p)
			}
		case "mcpb":
			bundles++
			if p.FileSHA256 == "" || p.FileSHA256 != sums[p.Identifier] {
				t.Errorf("%s has %q, want %q", p.Identifier, p.FileSHA256, sums[p.Identifier])
			}
		}
	}
	if bundles != len(allTargets) || len(server.Packages) != bundles+2 {
		t.Errorf("%d packages, %d of them bundles of %d systems", len(server.Packages), bundles, len(allTargets))
	}
}

type npmManifest struct{ Name, Version, MCPName string }

func (r *release) npmSays(t *testing.T, name string) (m npmManifest) {
	dir := t.TempDir()
	unpack(t, filepath.Join(r.out, r.npmFile(name)), dir)
	unmarshal(t, read(t, filepath.Join(dir, "package", "package.json")), &m)
	return m
}

type imageConfig struct{ RepoTag, Server, ConfigHome string }

func (r *release) imageSays(t *testing.T) imageConfig {
	dir := t.TempDir()
	succeed(t, "", "tar", "-xf", filepath.Join(r.out, "broker_"+testVersion+"_linux_amd64.oci.tar"), "-C", dir)
	var images []struct {
		Config   string
		RepoTags []string
	}
	unmarshal(t, read(t, filepath.Join(dir, "manifest.json")), &images)
	var config struct {
		Config struct {
			Labels map[string]string
			Env    []string
		}
	}
	unmarshal(t, read(t, filepath.Join(dir, images[0].Config)), &config)
	says := imageConfig{RepoTag: images[0].RepoTags[0], Server: config.Config.Labels["io.modelcontextprotocol.server.name"]}
	for _, variable := range config.Config.Env {
		if home, ok := strings.CutPrefix(variable, "XDG_CONFIG_HOME="); ok {
			says.ConfigHome = home
		}
	}
	return says
}

// Homebrew refuses descriptions of more than 80 characters.
func (r *release) testFormula(t *testing.T, sums map[string]string) {
	words := map[string]string{"on_macos": "darwin", "on_linux": "linux", "on_intel": "amd64", "on_arm": "arm64"}
	var system, arch, url string
	archives := 0
	for line := range strings.Lines(read(t, filepath.Join(r.out, "mcpbroker.rb"))) {
		word, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		value = strings.Trim(value, `"`)
		switch word {
		case "desc":
			if len(value) > 80 || strings.HasSuffix(value, ".") {
				t.Errorf("desc %q has %d characters", value, len(value))
			}
		case "on_macos", "on_linux":
			system = words[word]
		case "on_intel", "on_arm":
			arch = words[word]
		case "url":
			url = value
		case "sha256":
			archives++
			if path.Base(url) != r.archiveName(target{system, arch}) || value == "" || value != sums[url] {
				t.Errorf("%s/%s: %s has %q, want %q", system, arch, url, value, sums[url])
			}
		}
	}
	if archives != 4 {
		t.Errorf("%d archives", archives)
	}
}

func unmarshal(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}
