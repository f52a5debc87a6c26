package broker_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Every example in the documentation, and in the skill of the plugin, does what stands below it.
func TestExamplesInTheDocsRun(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/code.md")
	skill, err2 := os.ReadFile("../plugin/skills/broker-code/SKILL.md")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	doc = append(doc, skill...)
	examples := regexp.MustCompile("(?s)```ts\n(.*?)```\n```text\n(.*?)```").FindAllStringSubmatch(string(doc), -1)
	if n := strings.Count(string(doc), "```ts\n"); n < 8 || len(examples) != n {
		t.Fatalf("%d examples, of which %d say what they give", n, len(examples))
	}
	for _, e := range examples {
		b := newBroker(t, broker.Deps{}, broker.Settings{})
		a := b.Execute(t.Context(), broker.ExecuteRequest{Code: e[1]})
		got := a.Stdout
		if len(a.Result) > 0 {
			got += string(a.Result) + "\n"
		}
		if got != e[2] || a.ExitCode != 0 {
			t.Errorf("%s\ngives %q, code %d, %s; want %q", e[1], got, a.ExitCode, a.Stderr, e[2])
		}
	}
}

// codesIn are the values of the constants of a package that are called CodeSomething.
func codesIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Code") {
				return true
			}
			if value, ok := spec.Values[0].(*ast.BasicLit); ok && value.Kind == token.STRING {
				codes = append(codes, strings.Trim(value.Value, `"`))
			}
			return true
		})
	}
	return codes
}

// The table of codes has all that a ToolError may have, and no other.
func TestTheDocsNameTheCodesOfErrors(t *testing.T) {
	doc, err := os.ReadFile("../docs/code.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "| `code` | |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var listed []string
	for row := range strings.Lines(table) {
		for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(strings.Split(row, "|")[1], -1) {
			listed = append(listed, m[1])
		}
	}
	codes := append(codesIn(t, "../bridge"), codesIn(t, "../sandbox")...)
	slices.Sort(codes)
	codes = slices.Compact(codes) // some limits hold in both
	slices.Sort(listed)
	if diff := cmp.Diff(codes, listed); diff != "" || len(codes) < 10 {
		t.Errorf("codes in docs/code.md (-in the code +listed):\n%s", diff)
	}

	b := newBroker(t, broker.Deps{}, broker.Settings{Limits: sandbox.Limits{Calls: 1}})
	a := execute(t, b, `const codes = []; for (let i = 0; i < 2; i++) await files.readFile({ path: 'a.txt' }).catch((e) => codes.push(e.code)); return codes`)
	if want := `["` + sandbox.CodeCallLimit + `"]`; string(a.Result) != want {
		t.Errorf("too many calls have the codes %s, want %s; %s", a.Result, want, a.Stderr)
	}
}
