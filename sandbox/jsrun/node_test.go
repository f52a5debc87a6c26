package jsrun

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

func nodeScripts(t *testing.T) []string {
	var files []string
	for _, pattern := range []string{"testdata/node/*.js", "testdata/node/*.ts"} {
		list, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	if len(files) < 70 {
		t.Fatalf("%d scripts", len(files))
	}
	return files
}

// Each testdata/node/NAME.js or NAME.ts is a program as models write it;
// NAME.out is what Node 20 prints.
func TestScriptsPrintWhatNodePrints(t *testing.T) {
	for _, file := range nodeScripts(t) {
		ext := filepath.Ext(file)
		name := strings.TrimSuffix(filepath.Base(file), ext)
		for _, lang := range []sandbox.Language{sandbox.JavaScript, sandbox.TypeScript} {
			if lang == sandbox.TypeScript && name == "locales" || lang == sandbox.JavaScript && ext == ".ts" {
				continue // the first is the same code, and a large one
			}
			t.Run(name+"/"+string(lang), func(t *testing.T) {
				t.Parallel()
				code, want := readFile(t, file), readFile(t, strings.TrimSuffix(file, ext)+".out")
				out, h := run(t, lang, code)
				if diff := cmp.Diff(strings.Split(withoutColumns(want), "\n"), strings.Split(withoutColumns(h.stdout.String()), "\n")); diff != "" || out.ExitCode != 0 {
					t.Errorf("exit %d %s (-node +here):\n%s", out.ExitCode, out.Error, diff)
				}
			})
		}
	}
}

// withoutColumns has a blank for what stands between the items of lists: Node prints
// long ones in columns, which are not worth their lines here.
func withoutColumns(text string) string {
	lists := regexp.MustCompile(`\[\s(?:[^\[\]{}]|\[[^\[\]{}]*\]|\{[^\[\]{}]*\})*\]`)
	return lists.ReplaceAllStringFunc(text, func(list string) string { return strings.Join(strings.Fields(list), " ") })
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Node itself, where there is a Node 20, prints what the files say.
func TestNodePrintsWhatTheFilesSay(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node")
	}
	if v, err := exec.Command(node, "-p", "process.version+' '+process.versions.icu").Output(); err != nil || string(v) != "v20.20.2 78.2\n" {
		t.Skipf("the files are of Node 20.20.2 with ICU 78.2, not %s", v)
	}
	for _, file := range nodeScripts(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c := exec.CommandContext(ctx, node, "--input-type=module")
			ext := filepath.Ext(file)
			c.Stdin = strings.NewReader(forNode(t, readFile(t, file), ext))
			c.Env = append(os.Environ(), "TZ=UTC")
			got, err := c.Output()
			if diff := cmp.Diff(readFile(t, strings.TrimSuffix(file, ext)+".out"), string(got)); diff != "" || err != nil {
				t.Errorf("%v (-file +node):\n%s", err, diff)
			}
		})
	}
}

// forNode is a program that Node 20 can run: TypeScript without its types.
func forNode(t *testing.T, code, ext string) string {
	t.Helper()
	if ext != ".ts" {
		return code
	}
	res := api.Transform(code, api.TransformOptions{Loader: api.LoaderTS, Target: api.ES2022, TsconfigRaw: "{}", Format: api.FormatESModule})
	if len(res.Errors) > 0 {
		t.Fatal(res.Errors[0].Text)
	}
	return "Symbol.dispose ??= Symbol('Symbol.dispose'); Symbol.asyncDispose ??= Symbol('Symbol.asyncDispose');\n" + string(res.Code)
}
