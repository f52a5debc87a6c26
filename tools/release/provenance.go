package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-._].*)?$`)

// notices are the license texts of all that the programs for a system are made of:
// those beside each package and above it in its module, those of Go, that of the
// vocabulary of tokens, and those of what the console bundles. A module without one is an error.
func (r *release) notices(t target) ([]byte, error) {
	root, err := output(r.root, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	list, err := r.goOutput(t, "list", "-deps", "-f", `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{"\t"}}{{.Dir}}{{"\t"}}{{$.Dir}}{{end}}{{end}}`, "./cmd/broker", "./cmd/broker-worker")
	if err != nil {
		return nil, err
	}
	texts := map[string][]string{} // what has a text
	add := func(what, file string) error {
		data, err := os.ReadFile(file)
		if err == nil && !slices.Contains(texts[string(data)], what) {
			texts[string(data)] = append(texts[string(data)], what)
		}
		return err
	}
	seen, licensed := map[string]bool{}, map[string]bool{}
	modules := map[string]bool{}
	for line := range strings.SplitSeq(list, "\n") {
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			continue
		}
		module, top, dir := fields[0], fields[1], fields[2]
		modules[module] = true
		for ; len(dir) >= len(top) && !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			entries, err := os.ReadDir(dir)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if !e.IsDir() && licenseFile.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
					licensed[module] = true
					if err := add(module, filepath.Join(dir, e.Name())); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	for module := range modules {
		if !licensed[module] {
			return nil, fmt.Errorf("%s has no license file", module)
		}
	}
	if err := add("Go "+runtime.Version(), filepath.Join(root, "LICENSE")); err != nil {
		return nil, err
	}
	if err := add("the vocabulary o200k_base of tiktoken", filepath.Join(r.root, "internal/tokens/LICENSE.tiktoken")); err != nil {
		return nil, err
	}
	if err := add("WordNet 3.0, of which part of the search's table of related words was made", filepath.Join(r.root, "index/related.LICENSE")); err != nil {
		return nil, err
	}
	console, err := os.ReadFile(filepath.Join(r.root, "broker/console/dist/NOTICE.txt"))
	if err != nil {
		return nil, err
	}
	return inOrder(texts, console), nil
}

// inOrder writes each text once, below all that have it.
func inOrder(texts map[string][]string, last []byte) []byte {
	first := func(text string) string { slices.Sort(texts[text]); return texts[text][0] }
	sorted := slices.SortedFunc(maps.Keys(texts), func(a, b string) int {
		if c := strings.Compare(first(a), first(b)); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	b.WriteString("The broker contains the following, under these licenses.\n")
	rule := strings.Repeat("=", 72)
	for _, text := range sorted {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", rule, strings.Join(texts[text], "\n"), rule, strings.TrimSpace(text))
	}
	fmt.Fprintf(&b, "\n%s\nIn the web console\n%s\n\n%s", rule, rule, last)
	return []byte(b.String())
}

// provenance writes a statement about what every file was made of: in-toto's, with the
// predicate of SLSA. It has no signature; who publishes the files signs it.
func (r *release) provenance(targets []target) error {
	var subjects []any
	for _, name := range slices.Sorted(maps.Keys(r.sums)) {
		subjects = append(subjects, map[string]any{"name": name, "digest": map[string]string{"sha256": r.sums[name]}})
	}
	source := map[string]any{"uri": "git+" + homepage, "digest": map[string]string{"gitCommit": r.commit}}
	made := []any{source, map[string]any{"uri": "https://go.dev/dl/", "name": runtime.Version()}}
	for _, sums := range []string{"go.sum", "tools/release/go.sum"} {
		data, err := os.ReadFile(filepath.Join(r.root, sums))
		if err != nil {
			return err
		}
		made = append(made, map[string]any{"name": sums, "digest": map[string]string{"sha256": fmt.Sprintf("%x", sha256.Sum256(data))}})
	}
	var systems []string
	for _, t := range targets {
		systems = append(systems, t.String())
	}
	return r.writeJSON("broker_"+r.version+".intoto.json", map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":            homepage + "/blob/main/docs/release.md",
				"externalParameters":   map[string]any{"source": source, "only": systems, "version": r.version, "changed": r.changed},
				"resolvedDependencies": made,
			},
			"runDetails": map[string]any{"builder": map[string]string{"id": homepage + "/tree/main/tools/release"}},
		},
	})
}
