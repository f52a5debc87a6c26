package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each testdata/report/*.txtar holds files NAME/servers.json that are wrong,
// and in NAME/report what Parse must say. go test -update rewrites the reports.
func TestReports(t *testing.T) {
	paths, err := filepath.Glob("testdata/report/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			ar := txtar.Parse(data)
			got := &txtar.Archive{Comment: ar.Comment}
			for _, f := range ar.Files {
				name, isConfig := strings.CutSuffix(f.Name, "/servers.json")
				if !isConfig {
					continue
				}
				cfg, err := Parse("servers.json", f.Data)
				if _, ok := errors.AsType[*Report](err); !ok || cfg != nil {
					t.Errorf("%s: Parse = %v, %v, want a *Report", name, cfg, err)
					continue
				}
				got.Files = append(got.Files, f, txtar.File{Name: name + "/report", Data: []byte(err.Error() + "\n")})
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(ar)), string(txtar.Format(got))); diff != "" {
				t.Errorf("reports differ (-want +got):\n%s", diff)
			}
		})
	}
}
