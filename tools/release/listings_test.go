package main

import (
	"encoding/json"
	"errors"
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
	if err := errors.Join(r.npmWrapper(), r.serverJSON(), r.formula(), r.checksums()); err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{} // by the address of the file
	for line := range strings.Lines(read(t, filepath.Join(r.out, "SHA256SUMS"))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[r.download(name)] = sum
	}
	t.Run("server.json", func(t *testing.T) { r.testServerJSON(t, sums) })
	t.Run("formula", func(t *testing.T) { r.testFormula(t, sums) })
	t.Run("docs/install.md", func(t *testing.T) { r.testInstallPage(t, sums) })
}

// testInstallPage: the files that the page names are those of the release, with V in
// place of the version, and each of them is named there.
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
