package console_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
)

var update = flag.Bool("update", false, "build dist again from src")

// packages are the npm packages that the console and its tests are made of; .ci/run
// installs them. It skips the test where they are not there.
func packages(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(os.Getenv("BROKER_NPM"), "console", "node_modules")
	if _, err := os.Stat(filepath.Join(dir, "preact")); os.Getenv("BROKER_NPM") == "" || err != nil {
		missing(t, "BROKER_NPM names no folder with console/node_modules/preact: .ci/run installs it")
	}
	return dir
}

// missing skips a test, but not in CI.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("BROKER_CI") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// build bundles src: app.js for the first screens, and parts that the Ledger and the
// Runner load when they are shown.
func build(t *testing.T, modules string) map[string][]byte {
	t.Helper()
	// Names of parts are hashes of the paths within too: always the same ones.
	dir := t.TempDir()
	src := filepath.Join(dir, "src")
	err := os.CopyFS(src, os.DirFS("src"))
	if err == nil {
		err = os.Symlink(modules, filepath.Join(dir, "node_modules"))
	}
	if err != nil {
		t.Fatal(err)
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{"app.tsx", "app.css"}, AbsWorkingDir: src, Outdir: "dist", Bundle: true, Splitting: true, Format: api.FormatESModule,
		Target: api.ES2022, MinifyWhitespace: true, MinifySyntax: true, MinifyIdentifiers: true, Charset: api.CharsetUTF8, PreserveSymlinks: true,
		JSX: api.JSXAutomatic, JSXImportSource: "preact", ChunkNames: "[name]-[hash]", LegalComments: api.LegalCommentsNone, Metafile: true,
	})
	for _, e := range result.Errors {
		t.Fatalf("%v: %s", e.Location, e.Text)
	}
	files := map[string][]byte{"NOTICE.txt": notice(t, modules, result.Metafile)}
	for _, f := range result.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	for _, name := range []string{"index.html", "icon.svg"} {
		if files[name], err = os.ReadFile(filepath.Join("src", name)); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// notice has the license of each library that is bundled.
func notice(t *testing.T, modules, metafile string) []byte {
	t.Helper()
	bundled := map[string]bool{}
	for _, part := range strings.Split(metafile, "node_modules/")[1:] {
		words := strings.SplitN(part, "/", 3)
		name := words[0]
		if strings.HasPrefix(name, "@") {
			name += "/" + words[1]
		}
		bundled[name] = true
	}
	var b bytes.Buffer
	fmt.Fprintln(&b, "The console holds these libraries.")
	for _, name := range slices.Sorted(maps.Keys(bundled)) {
		found, err := filepath.Glob(filepath.Join(modules, name, "LICEN[SC]E*"))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s has no license file: %v", name, err)
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\n%s\n\n%s\n", name, bytes.TrimSpace(text))
	}
	return b.Bytes()
}

// What is committed in dist is what src makes. go test ./broker/console -update
// builds it again.
func TestDistIsBuiltFromSource(t *testing.T) {
	files := build(t, packages(t))
	if *update {
		if err := os.RemoveAll("dist"); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir("dist", 0o755); err != nil {
			t.Fatal(err)
		}
		for name, data := range files {
			switch filepath.Ext(name) {
			case ".js", ".css":
				name, data = name+".gz", zipped(t, data)
			}
			if err := os.WriteFile(filepath.Join("dist", name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	entries, err := os.ReadDir("dist")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(files) {
		t.Errorf("dist has %d files, src makes %d", len(entries), len(files))
	}
	for _, e := range entries {
		have, err := os.ReadFile(filepath.Join("dist", e.Name()))
		name, compressed := strings.CutSuffix(e.Name(), ".gz")
		if err == nil && compressed { // the bytes depend on the version of compress/gzip
			have, err = unzipped(have)
		}
		if err != nil || !bytes.Equal(have, files[name]) {
			t.Errorf("dist/%s is not what src makes (%v): go test ./broker/console -run Dist -update", e.Name(), err)
		}
	}
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unzipped(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// The budget: what the first screen loads, and everything, compressed.
func TestDistIsSmall(t *testing.T) {
	files, err := filepath.Glob("dist/*")
	if err != nil {
		t.Fatal(err)
	}
	first, all := 0, 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		base, compressed := strings.CutSuffix(filepath.Base(name), ".gz")
		if !compressed {
			data = zipped(t, data)
		}
		n := len(data)
		all += n
		if strings.HasSuffix(base, ".js") && !strings.HasPrefix(base, "editor-") && !strings.HasPrefix(base, "chart-") {
			first += n
		}
	}
	t.Logf("first load %d bytes of script, all %d", first, all)
	if first > 60_000 || all > 400_000 {
		t.Errorf("first load has %d bytes of script (at most 60,000), all is %d (at most 400,000)", first, all)
	}
}

func TestSourceHasNoTypeErrors(t *testing.T) {
	modules := packages(t)
	tsc := os.Getenv("BROKER_TSC")
	if tsc == "" {
		missing(t, "BROKER_TSC names no TypeScript compiler")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("src")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), tsc, "-p", dir).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
