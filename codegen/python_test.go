package codegen_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

// checkPython is a program that reads files in JSON and lets Python judge them:
// each is parsed, and what runs is imports, assignments of names and functions
// whose one statement besides the docstring is a call.
const checkPython = `
import ast, json, sys
for f in json.load(sys.stdin):
    tree = ast.parse(f["text"], f["path"])
    for n in tree.body:
        if isinstance(n, ast.AsyncFunctionDef):
            body = n.body[1:] if ast.get_docstring(n, clean=False) is not None else n.body
            ok = len(body) == 1 and isinstance(body[0], ast.Return) and ast.unparse(body[0]).startswith("return await call_mcp_tool('")
        elif isinstance(n, ast.If):
            ok = n.test.id == "TYPE_CHECKING" and not n.orelse
        elif isinstance(n, ast.Assign):
            ok = isinstance(n.value, ast.Name)
        elif isinstance(n, ast.Expr):
            ok = isinstance(n.value, ast.Constant) and n is tree.body[0]
        else:
            ok = isinstance(n, ast.ImportFrom)
        if not ok:
            sys.exit(f["path"] + ": unexpected " + ast.unparse(n))
`

// Python reads what is written for it, whatever the schemas hold.
func TestPythonParses(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	listings := []discovery.Listing{{Server: "my-server"}, {Server: "3d"}, {Server: "import"}, {Server: ""}}
	for i, schema := range hostile {
		listings[i%4].Tools = append(listings[i%4].Tools, discovery.ListedTool{
			Name: []string{"list-issues", "class", "2d", "", `"""\`}[i%5], Description: `ends """ and \`,
			InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(schema)})
	}
	r := rand.New(rand.NewPCG(3, 4))
	g := new(codegen.Generator)
	files := pythonFiles(g, discovery.NewCatalog(listings))
	for range 40 {
		files = append(files, pythonFiles(g, maker{r.IntN}.catalogue(t))...)
	}
	type text struct {
		Path string `json:"path"`
		Text string `json:"text"`
	}
	var texts []text
	for i, f := range files {
		texts = append(texts, text{fmt.Sprint(i, " ", f.Path), string(f.Data)})
	}
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", checkPython)
	cmd.Stdin = bytes.NewReader(in)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// pythonFiles are the modules of the servers of c, in path order.
func pythonFiles(g *codegen.Generator, c *discovery.Catalog) []codegen.File {
	var files []codegen.File
	names := codegen.PythonNames(c)
	for i, s := range c.Servers() {
		files = append(files, codegen.File{Path: "servers/" + names[i] + ".py", Data: []byte(g.PythonModule(s))})
	}
	slices.SortFunc(files, func(a, b codegen.File) int { return strings.Compare(a.Path, b.Path) })
	return files
}
