package codegen_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/catalogues"
)

// A score is one line of the oracle's report: how many, of how many.
type score [2]int

func (s score) below(percent float64) bool {
	return float64(s[0])*100 < percent*float64(s[1])
}

func (s score) String() string { return fmt.Sprintf("%d/%d", s[0], s[1]) }

type report struct {
	FilesCompiling       score `json:"files_compiling"`
	Passthrough          score `json:"passthrough"`
	InputValidAccepted   score `json:"input_valid_accepted"`
	OutputValidAccepted  score `json:"output_valid_accepted"`
	InputInvalidRejected score `json:"input_invalid_rejected"`
	OutputInvalid        score `json:"output_invalid_rejected"`
	TypoKeyFlagged       score `json:"typo_key_flagged"`
	UndeclaredOutputOpen score `json:"undeclared_output_open"`
	IndexErrors          int   `json:"index_and_helper_errors"`
	Perfect              score `json:"tools_perfect"`
}

// The oracle judges wrappers by meaning: it makes values of each schema and
// asks the TypeScript compiler which of them the wrapper takes. It needs Node
// and the oracle with its packages, which BROKER_ORACLE names.
func TestOracle(t *testing.T) {
	oracle := os.Getenv("BROKER_ORACLE")
	if oracle == "" {
		t.Skip("BROKER_ORACLE names no folder with the oracle")
	}
	for _, file := range catalogues.All() {
		path := filepath.Join(t.TempDir(), file.Name+".json")
		if err := os.WriteFile(path, file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(file.Name, func(t *testing.T) { judge(t, oracle, path) })
	}
}

func judge(t *testing.T, oracle, file string) {
	dir := t.TempDir()
	tools := readListed(t, file)
	for f := range new(codegen.Generator).Files(discovery.NewCatalog(listingsOf(tools))) {
		path := filepath.Join(dir, "w", f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	catalogue, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/catalogue.json", catalogue, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(oracle, "oracle.mjs"), "--verbose",
		"--catalogue", dir+"/catalogue.json", "--dir", dir+"/w", "--json", dir+"/report.json")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("oracle: %v\n%s", err, out.String())
	}
	t.Log("\n" + out.String())
	raw, err := os.ReadFile(dir + "/report.json")
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		name  string
		got   score
		least float64
	}{
		{"files_compiling", r.FilesCompiling, 100}, {"passthrough", r.Passthrough, 100},
		{"input_valid_accepted", r.InputValidAccepted, 100}, {"output_valid_accepted", r.OutputValidAccepted, 99.5},
		{"input_invalid_rejected", r.InputInvalidRejected, 99}, {"output_invalid_rejected", r.OutputInvalid, 99},
		{"typo_key_flagged", r.TypoKeyFlagged, 99}, {"undeclared_output_open", r.UndeclaredOutputOpen, 100},
	} {
		if want.got.below(want.least) {
			t.Errorf("%s is %v, want at least %g %%", want.name, want.got, want.least)
		}
	}
	if r.IndexErrors > 0 {
		t.Errorf("%d errors in indexes and helpers", r.IndexErrors)
	}
}

// A listed is a tool as catalogues hold it, with the hand-written cases of some.
type listed struct {
	Server string `json:"server"`
	discovery.ListedTool
	Valid         json.RawMessage `json:"valid,omitempty"`
	Invalid       json.RawMessage `json:"invalid,omitempty"`
	ValidOutput   json.RawMessage `json:"validOutput,omitempty"`
	InvalidOutput json.RawMessage `json:"invalidOutput,omitempty"`
}

// readListed reads a list of tools, or an object of a server and its tools.
func readListed(t testing.TB, file string) []listed {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Skip(err)
	}
	var tools []listed
	if json.Unmarshal(raw, &tools) == nil {
		return tools
	}
	var one struct {
		Server string
		Tools  []listed
	}
	if err := json.Unmarshal(raw, &one); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for i := range one.Tools {
		one.Tools[i].Server = one.Server
	}
	return one.Tools
}

// listingsOf puts the tools of each server together, in order.
func listingsOf(tools []listed) []discovery.Listing {
	var listings []discovery.Listing
	at := make(map[string]int)
	for _, t := range tools {
		i, ok := at[t.Server]
		if !ok {
			i = len(listings)
			at[t.Server] = i
			listings = append(listings, discovery.Listing{Server: t.Server})
		}
		listings[i].Tools = append(listings[i].Tools, t.ListedTool)
	}
	return listings
}
