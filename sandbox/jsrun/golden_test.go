package jsrun

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

var update = flag.Bool("update", false, "rewrite testdata")

// Each testdata/*.txtar holds programs, NAME.ts or NAME.js, each followed by
// NAME.out, its outcome. go test ./sandbox/jsrun -update rewrites them; read
// the diff before you commit it.
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{Comment: ar.Comment}
			for _, f := range ar.Files {
				ext := filepath.Ext(f.Name)
				lang, ok := map[string]sandbox.Language{".ts": sandbox.TypeScript, ".js": sandbox.JavaScript}[ext]
				if !ok {
					continue
				}
				out, h := run(t, lang, strings.TrimSuffix(string(f.Data), "\n"))
				outcome := txtar.File{Name: strings.TrimSuffix(f.Name, ext) + ".out", Data: []byte(show(out, h))}
				got.Files = append(got.Files, f, outcome)
			}
			finishGolden(t, file, ar, got)
		})
	}
}

func show(out Outcome, h *memHost) string {
	var b strings.Builder
	fmt.Fprintf(&b, "exit %d\n", out.ExitCode)
	section := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "[%s]\n%s\n", name, strings.TrimSuffix(text, "\n"))
		}
	}
	section("value", string(out.Value))
	section("stdout", h.stdout.String())
	section("stderr", h.stderr.String())
	section("error", out.Error)
	section("notes", strings.Join(out.Notes, "\n"))
	return b.String()
}

func finishGolden(t *testing.T, file string, want, got *txtar.Archive) {
	t.Helper()
	text := txtar.Format(got)
	if *update {
		writeFile(t, file, text)
		return
	}
	if diff := cmp.Diff(string(txtar.Format(want)), string(text)); diff != "" {
		t.Errorf("%s mismatch (-want +got):\n%s", file, diff)
	}
}
