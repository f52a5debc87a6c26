// Package mcpbroker_test checks what no single package can check of itself:
// that imports between the packages of this module follow the diagram in
// docs/architecture.md.
package mcpbroker_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

const module = "github.com/mcpbroker/mcpbroker"

// A row says what one package may import. Patterns end in "/..." to mean a
// package and all below it.
type row struct {
	pkg string
	// imports are the packages of this module that it may draw on, besides
	// those of everywhere. Nil means none.
	imports []string
	// modules are the other modules that it may draw on; "std" means none.
	// Empty means any that reserved leaves free.
	modules []string
}

// below are the packages that broker joins. They do not import each other:
// what one needs of another is handed in as a function or a small interface.
var below = []string{
	"discovery/...", "index", "codegen", "bridge", "policy/...", "sandbox/...", "skills/...", "approvals",
	"state/...", "internal/config", "internal/redact", "internal/results", "internal/apitoken", "internal/oauth", "internal/bearer", "internal/accounts", "internal/secret", "internal/tokens", "internal/clients", "internal/evaluate", "internal/daemon", "internal/service", "internal/telemetry", "internal/replicas",
}

// diagram is the picture in docs/architecture.md as data. A package that no
// row names fails the test.
var diagram = []row{
	{pkg: "cmd/broker", imports: append([]string{"broker/...", "docs", "images", "internal/app/...", "internal/approver", "internal/await", "internal/cli", "internal/doctor", "internal/extensions", "internal/measure", "internal/pins", "internal/policies", "internal/records", "internal/selftest", "internal/setup", "internal/top", "internal/typefiles", "state"},
		slices.DeleteFunc(slices.Clone(below), func(p string) bool { return p == "state/..." })...)},
	{pkg: "internal/cli", imports: []string{"bridge", "codegen", "discovery/questions", "discovery/upstream", "internal/config"}, modules: []string{"std", "github.com/modelcontextprotocol/go-sdk", "github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/sys", "golang.org/x/term"}},
	{pkg: "internal/records", imports: []string{"broker/api", "internal/cli", "internal/telemetry", "state"}, modules: []string{"std"}},
	{pkg: "internal/policies", imports: []string{"bridge", "broker", "discovery", "internal/approver", "internal/cli", "internal/config", "policy/...", "state"}, modules: []string{"std", "github.com/tailscale/hujson"}},
	{pkg: "internal/setup", imports: []string{"broker/api", "discovery/launch", "discovery/upstream", "internal/cli", "internal/clients", "internal/config", "internal/oauth", "internal/redact", "state"}, modules: []string{"std"}},
	{pkg: "internal/await", imports: []string{"broker", "broker/api", "discovery/upstream", "internal/app", "internal/cli"}, modules: []string{"std"}},
	{pkg: "internal/doctor", imports: []string{"broker", "broker/typecheck", "discovery/launch", "discovery/upstream", "internal/app", "internal/await", "internal/cli", "internal/config", "internal/extensions", "internal/setup", "sandbox", "sandbox/docker", "sandbox/worker"}, modules: []string{"std"}},
	{pkg: "internal/extensions", imports: []string{"approvals", "internal/app", "internal/cli", "internal/config", "skills/..."}, modules: []string{"std"}},
	{pkg: "internal/measure", imports: []string{"broker", "broker/api", "discovery", "internal/cli", "internal/evaluate"}, modules: []string{"std"}},
	{pkg: "internal/typefiles", imports: []string{"codegen", "internal/cli"}, modules: []string{"std"}},
	{pkg: "internal/selftest", imports: []string{"images", "internal/app", "internal/app/contain", "internal/cli", "internal/config", "sandbox", "sandbox/attack", "sandbox/docker"}, modules: []string{"std"}},
	{pkg: "internal/approver", imports: []string{"internal/cli"}, modules: []string{"std"}},
	{pkg: "internal/app", imports: append([]string{"broker/...", "internal/app/identity", "internal/app/observe", "internal/pins"}, below...)},
	{pkg: "internal/app/observe", imports: []string{"discovery", "discovery/upstream", "internal/config", "internal/pins", "internal/telemetry", "state"}, modules: []string{"std"}},
	{pkg: "internal/app/identity", imports: []string{"broker", "broker/surface", "discovery/upstream", "internal/accounts", "internal/bearer", "internal/config", "internal/oauth"}, modules: []string{"std", "github.com/modelcontextprotocol/go-sdk"}},
	{pkg: "internal/app/contain", imports: []string{"broker", "discovery/upstream", "internal/app", "internal/config", "sandbox/...", "skills/...", "state"}, modules: []string{"std", "github.com/modelcontextprotocol/go-sdk"}},
	{pkg: "internal/app/host", imports: append([]string{"broker/...", "internal/app", "internal/app/identity", "internal/app/observe", "internal/memory"}, below...), modules: []string{"std", "github.com/modelcontextprotocol/go-sdk", "golang.org/x/sys"}},
	{pkg: "cmd/broker-worker", imports: []string{"sandbox/worker"}, modules: []string{"std"}},
	{pkg: "broker", imports: append([]string{"broker/catalog", "broker/find", "broker/learned", "broker/quota", "broker/run", "broker/run/approve", "broker/script", "broker/skill", "broker/surface", "broker/typecheck", "broker/usage", "broker/vault"}, below...)},
	// Features register downwards: at run what scripts see of them, at find what is
	// found, at surface what clients see. No package below broker imports skill.
	{pkg: "broker/skill", imports: []string{"broker/catalog", "broker/find", "broker/run", "broker/surface",
		"discovery/...", "index", "policy", "sandbox", "skills/...", "state", "approvals"}},
	{pkg: "broker/script", imports: []string{"broker/catalog", "broker/find", "broker/run", "discovery", "codegen", "index", "sandbox", "state"}},
	{pkg: "broker/find", imports: []string{"broker/catalog", "broker/run", "broker/surface", "broker/usage", "discovery/...", "index", "codegen", "policy", "sandbox"}},
	{pkg: "broker/run/approve", imports: []string{"bridge", "broker/surface", "discovery/upstream", "internal/redact", "policy", "sandbox", "state"}},
	{pkg: "broker/run/output", imports: []string{"internal/results", "state"}, modules: []string{"std"}},
	{pkg: "broker/run/hint", imports: []string{"bridge", "internal/results", "sandbox"}, modules: []string{"std"}},
	{pkg: "broker/run", imports: []string{"broker/run/...", "broker/catalog", "broker/surface", "discovery/...", "codegen", "bridge", "policy", "sandbox",
		"state", "broker/learned", "broker/quota", "broker/typecheck", "broker/vault", "internal/redact", "internal/results"}},
	{pkg: "broker/catalog", imports: []string{"discovery/...", "codegen", "bridge", "policy", "broker/learned"}},
	{pkg: "broker/surface", imports: []string{"discovery/questions", "discovery/transport", "discovery/upstream", "state"}},
	{pkg: "broker/learned", imports: []string{"state"}},
	{pkg: "broker/usage", imports: []string{"state"}, modules: []string{"std"}},
	{pkg: "broker/quota", imports: []string{"discovery", "policy", "state"}, modules: []string{"std"}},
	{pkg: "broker/typecheck", imports: []string{"internal/spawn"}},
	{pkg: "broker/vault", imports: []string{"policy", "internal/redact", "state"}, modules: []string{"std"}},
	{pkg: "examples/...", imports: []string{"broker/...", "discovery/...", "index", "codegen", "bridge", "policy", "sandbox/...", "skills/...", "state/..."}},

	{pkg: "index", imports: []string{"discovery", "internal/related", "internal/wordstem"}},
	{pkg: "codegen", imports: []string{"discovery"}},
	{pkg: "bridge", imports: []string{"discovery", "policy"}},
	{pkg: "policy", imports: []string{"discovery"}, modules: []string{"std"}},
	{pkg: "policy/pin", modules: []string{"std"}},
	{pkg: "policy/scan", imports: []string{"discovery", "policy"}, modules: []string{"golang.org/x/text"}},
	{pkg: "approvals", imports: []string{"internal/entries"}, modules: []string{"std"}},
	{pkg: "skills", imports: []string{"skills/workflow", "internal/entries"}},
	{pkg: "skills/workflow"},
	{pkg: "skills/...", imports: []string{"skills", "skills/workflow"}},
	{pkg: "skills/script", imports: []string{"skills", "internal/spawn"}},
	{pkg: "skills/plugin", imports: []string{"skills", "skills/pack"}},
	{pkg: "skills/remote", imports: []string{"skills", "internal/outbound"}},
	{pkg: "skills/repo", imports: []string{"internal/spawn"}, modules: []string{"std"}},
	{pkg: "skills/library", imports: []string{"approvals", "skills", "skills/pack", "skills/plugin", "skills/remote", "skills/repo"}},
	{pkg: "discovery/upstream", imports: []string{"discovery", "discovery/transport", "discovery/launch", "discovery/hide", "discovery/packages", "discovery/questions", "discovery/sharing", "discovery/upstream/cache", "discovery/upstream/link"}},
	{pkg: "discovery/upstream/cache", imports: []string{"discovery", "discovery/upstream/link"}, modules: []string{"std"}},
	{pkg: "discovery/upstream/link", imports: []string{"discovery", "discovery/transport", "discovery/launch", "discovery/hide", "discovery/packages", "discovery/listing", "discovery/questions", "internal/lines", "internal/outbound", "internal/redact"}},
	{pkg: "discovery/listing", imports: []string{"discovery"}},
	{pkg: "discovery/questions", imports: []string{"internal/outbound"}},
	{pkg: "discovery/sharing", imports: []string{"discovery"}, modules: []string{"std"}},
	{pkg: "discovery/hide", imports: []string{"discovery", "discovery/launch", "discovery/transport"}, modules: []string{"std"}},
	{pkg: "discovery/launch", imports: []string{"internal/lines", "internal/memory", "internal/spawn"}, modules: []string{"std"}},
	{pkg: "discovery/packages", imports: []string{"discovery/launch", "internal/lines", "internal/spawn"}, modules: []string{"std"}},
	{pkg: "discovery/transport", imports: []string{"internal/lines", "internal/outbound"}},
	{pkg: "discovery", modules: []string{"std"}},

	{pkg: "sandbox", modules: []string{"std"}},
	{pkg: "sandbox/script", imports: []string{"sandbox"}, modules: []string{"github.com/dop251/goja", "github.com/evanw/esbuild", "github.com/go-sourcemap/sourcemap"}},
	{pkg: "sandbox/jsrun/intl", modules: []string{"golang.org/x/text"}},
	{pkg: "sandbox/jsrun/amend", imports: []string{"sandbox/script"}, modules: []string{"github.com/dop251/goja", "golang.org/x/text"}},
	{pkg: "sandbox/jsrun", imports: []string{"sandbox", "sandbox/script", "sandbox/jsrun/amend", "sandbox/jsrun/intl"}, modules: []string{"github.com/dop251/goja", "github.com/nlnwa/whatwg-url", "golang.org/x/text"}},
	{pkg: "sandbox/nodejs", imports: []string{"sandbox", "sandbox/script"}, modules: []string{"github.com/dop251/goja"}},
	{pkg: "sandbox/docker", imports: []string{"sandbox/...", "internal/spawn"}, modules: []string{"github.com/docker/docker", "github.com/containerd/errdefs"}},
	{pkg: "sandbox/...", imports: []string{"sandbox/...", "internal/spawn"}, modules: []string{"golang.org/x/sys", "github.com/landlock-lsm/go-landlock"}},

	{pkg: "images", modules: []string{"std"}},
	{pkg: "docs", modules: []string{"std"}},
	{pkg: "internal/config", imports: []string{"policy", "internal/outbound", "internal/redact"}},
	{pkg: "broker/api", imports: []string{"broker", "codegen", "discovery", "discovery/sharing", "discovery/upstream", "skills", "skills/library", "skills/plugin", "skills/repo",
		"state", "internal/pins", "internal/redact", "internal/tokens"}},
	{pkg: "broker/console", imports: []string{"docs"}, modules: []string{"std"}},
	{pkg: "state", imports: []string{"internal/redact"}},
	{pkg: "state/tables", imports: []string{"state"}, modules: []string{"std"}},
	{pkg: "state/sqlite", imports: []string{"state", "state/tables"}},
	{pkg: "state/postgres", imports: []string{"state", "state/tables"}},
	{pkg: "state/s3", imports: []string{"state", "internal/outbound"}, modules: []string{"std"}},
	{pkg: "state/local", imports: []string{"state", "state/files", "state/sqlite"}, modules: []string{"std"}},
	{pkg: "state/shared", imports: []string{"state", "state/postgres", "state/sqlite"}, modules: []string{"std"}},
	{pkg: "state/statetest", imports: []string{"state", "internal/eventually"}},
	{pkg: "state/...", imports: []string{"state"}},
	{pkg: "internal/redact", modules: []string{"std"}},
	{pkg: "internal/apitoken", imports: []string{"state"}, modules: []string{"std"}},
	{pkg: "internal/pins", imports: []string{"discovery", "policy/pin", "policy/scan", "state"}},
	{pkg: "internal/atomicfile", modules: []string{"std"}},
	{pkg: "internal/results", imports: []string{"state"}},
	{pkg: "internal/secret", imports: []string{"internal/redact", "internal/spawn"}},
	{pkg: "internal/replicas", imports: []string{"state"}, modules: []string{"std"}},
	{pkg: "internal/telemetry", imports: []string{"state", "internal/outbound"}},
	{pkg: "internal/bearer", imports: []string{"internal/outbound"}},
	{pkg: "internal/oauth", imports: []string{"internal/outbound", "state"}},
	{pkg: "internal/accounts", imports: []string{"discovery/transport", "discovery/upstream", "internal/oauth", "state"}},
	{pkg: "internal/outbound", modules: []string{"std"}},
	{pkg: "internal/tokens", modules: []string{"std"}},
	{pkg: "internal/clients", imports: []string{"internal/config"}},
	{pkg: "internal/lines", modules: []string{"std"}},
	{pkg: "internal/memory", modules: []string{"std"}},
	{pkg: "internal/pipes", modules: []string{"std"}},
	{pkg: "internal/eventually", modules: []string{"std"}},
	{pkg: "internal/badmessages", modules: []string{"std"}},
	{pkg: "internal/spawn", modules: []string{"std"}},
	{pkg: "internal/spawn/spawntest", modules: []string{"std"}},
	{pkg: "internal/gate", modules: []string{"std"}},
	{pkg: "internal/words", modules: []string{"std"}},
	{pkg: "internal/tsname", modules: []string{"std"}},
	{pkg: "internal/nearest"},
	{pkg: "internal/related", modules: []string{"std"}},
	{pkg: "internal/wordstem"},
	{pkg: "internal/filelock", modules: []string{"std", "golang.org/x/sys"}},
	{pkg: "internal/jsonscan", modules: []string{"std"}},
	{pkg: "internal/jsonscan/jsonscantest", modules: []string{"std"}},
	{pkg: "internal/schema", modules: []string{"std", "github.com/google/jsonschema-go"}},
	{pkg: "internal/evaluate", modules: []string{"std"}},
	{pkg: "internal/service", modules: []string{"std"}},
	{pkg: "internal/daemon", imports: []string{"internal/lines"}, modules: []string{"std", "github.com/Microsoft/go-winio", "golang.org/x/sys"}},
	{pkg: "internal/top", imports: []string{"internal/outbound"}, modules: []string{"std", "charm.land/bubbletea", "github.com/charmbracelet/x/ansi", "golang.org/x/term"}},
	{pkg: "internal/entries", modules: []string{"std"}},
	{pkg: "internal/fair", modules: []string{"std"}},
	{pkg: "internal/lazyregexp", modules: []string{"std"}},
	{pkg: "internal/fakeupstream", imports: []string{"internal/spawn"}},
	{pkg: "internal/fakeauth"},
	{pkg: "internal/fakes3", modules: []string{"std"}},
	{pkg: "internal/skillcases"},
	{pkg: "internal/catalogues", modules: []string{"std"}},
	{pkg: "internal/postgrestest", imports: []string{"internal/ramdisk"}, modules: []string{"std"}},
	{pkg: "internal/ramdisk", modules: []string{"std"}},
	{pkg: "internal/workertest", modules: []string{"std"}},
}

// everywhere are the packages that any other may import.
var everywhere = []string{"internal/gate", "internal/words", "internal/tsname", "internal/nearest", "internal/filelock", "internal/jsonscan", "internal/schema", "internal/fair", "internal/atomicfile", "internal/lazyregexp"}

// reserved are modules that belong to a few packages: each of them is behind
// one package's interface so that it can be replaced there.
var reserved = map[string][]string{
	"github.com/modelcontextprotocol/go-sdk":    {"discovery/upstream", "discovery/upstream/link", "discovery/listing", "discovery/questions", "discovery/transport", "broker/...", "cmd/broker", "internal/app/...", "internal/cli", "examples/...", "internal/fakeupstream", "internal/fakeauth", "internal/oauth", "internal/accounts", "internal/telemetry"},
	"github.com/dop251/goja":                    {"sandbox/jsrun"},
	"github.com/dlclark/regexp2":                {"sandbox/jsrun"},
	"github.com/evanw/esbuild":                  {"sandbox/script"},
	"github.com/blevesearch/bleve":              {"index"},
	"github.com/blevesearch/bleve_index_api":    {"index"},
	"github.com/blevesearch/scorch_segment_api": {"index"},
	"github.com/blevesearch/zapx":               {"index"},
	"github.com/blevesearch/snowballstem":       {"index", "internal/wordstem"},
	"go.opentelemetry.io/otel":                  {"internal/telemetry"},
	"modernc.org/sqlite":                        {"state/sqlite"},
	"github.com/jackc/pgx":                      {"state/postgres"},
	"github.com/coreos/go-oidc":                 {"internal/bearer"},
	"github.com/go-jose/go-jose":                {"internal/bearer", "internal/fakeauth"},
	"github.com/spf13/cobra":                    {"cmd/broker", "internal/cli"},
	"github.com/spf13/pflag":                    {"cmd/broker", "internal/cli"},
	"github.com/pelletier/go-toml":              {"internal/clients"},
	"charm.land/bubbletea":                      {"internal/top"},
	"github.com/charmbracelet":                  {"internal/top"},
}

// syntax are the packages of goja that read programs: readers draw on these, and not
// on the engine.
var syntax = []string{"github.com/dop251/goja/ast", "github.com/dop251/goja/file", "github.com/dop251/goja/parser", "github.com/dop251/goja/token", "github.com/dop251/goja/unistring"}

var readers = []string{"sandbox/script", "sandbox/nodejs", "sandbox/jsrun/amend"}

// above are the packages that a test of a lower package must not import
// either. Otherwise tests may draw on anything: they use real neighbours.
var above = []string{"broker/...", "cmd/...", "examples/...", "internal/app/...", "internal/approver", "internal/await", "internal/cli", "internal/doctor", "internal/extensions", "internal/measure", "internal/policies", "internal/records", "internal/selftest", "internal/setup", "internal/typefiles"}

// An arrow is one import of one file.
type arrow struct {
	from, to string // directories of this module; to is an import path when it is another module's
	pos      string
	test     bool
}

func TestImportsFollowTheDiagram(t *testing.T) {
	arrows, err := readArrows(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if len(arrows) == 0 {
		t.Fatal("no imports found: is the test run in the root of the module?")
	}
	for _, problem := range check(arrows) {
		t.Error(problem)
	}
}

// scriptModules are all that the program is made of that runs scripts, besides
// packages of this module.
var scriptModules = []string{
	"github.com/dop251/goja/...", "github.com/dlclark/regexp2/...", "github.com/go-sourcemap/sourcemap/...", "github.com/google/pprof/profile",
	"github.com/evanw/esbuild/...", "golang.org/x/sys/...", "golang.org/x/text/...", "github.com/agnivade/levenshtein",
	"github.com/nlnwa/whatwg-url/...", "github.com/bits-and-blooms/bitset", "golang.org/x/net/idna",
	"github.com/landlock-lsm/go-landlock/...", "kernel.org/pub/linux/libs/security/libcap/psx",
}

// The program that runs scripts has no database, container engine, sign-in, MCP
// or search, and what it has of the network is what esbuild's server imports.
func TestWorkerHasOnlyWhatScriptsNeed(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", `{{if not .Standard}}{{.ImportPath}} {{join .Imports " "}}{{end}}`, "./cmd/broker-worker").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(packages) < 20 {
		t.Fatalf("go list has %d packages: %q", len(packages), packages)
	}
	for _, line := range packages {
		pkg, imports, _ := strings.Cut(line, " ")
		if own, ok := strings.CutPrefix(pkg, module+"/"); ok {
			if !matchAny([]string{"cmd/broker-worker", "sandbox/...", "internal/spawn"}, own) && !slices.Contains(everywhere, own) || match("sandbox/docker/...", own) {
				t.Errorf("cmd/broker-worker draws on %s", own)
			}
		} else if !matchAny(scriptModules, pkg) {
			t.Errorf("cmd/broker-worker draws on %s", pkg)
		}
		for imported := range strings.FieldsSeq(imports) {
			if (imported == "net" || strings.HasPrefix(imported, "net/http")) && !match("github.com/evanw/esbuild/...", pkg) {
				t.Errorf("%s, of cmd/broker-worker, imports %s", pkg, imported)
			}
		}
	}
}

// Each package has an example of its use.
func TestPackagesHaveExamples(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.Name}} {{.ImportPath}} {{.Dir}}", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		name, pkg, dir := f[0], f[1], f[2]
		if name == "main" || strings.Contains(pkg, "/internal/") || pkg == module || strings.HasPrefix(pkg, module+"/images") {
			continue
		}
		tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(tests, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(text), "\nfunc Example")
		}) {
			t.Errorf("%s has no Example", pkg)
		}
	}
}

// A file that is longer than this has two subjects.
const longest = 500

func TestFilesAreShort(t *testing.T) {
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		if n := strings.Count(string(text), "\n"); n > longest {
			t.Errorf("%s has %d lines, more than %d", name, n, longest)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// linkers are packages with tests that create links and archive names that lead out of
// a folder. There, only the arguments of functions that read are checked.
var linkers = []string{"skills/..."}

// Tests read nothing outside the module: their data is in testdata or made by them. A
// clone has nothing beside it, so such a test would silently skip there. System files
// exist everywhere.
func TestTestsReadNothingOutsideTheModule(t *testing.T) {
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		for _, at := range pathsOutside(t, name, nil) {
			t.Error(at)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	const sample = `package x
import ("os"; "path/filepath")
const near, far = "../testdata/x.json", "../../data/x.json"
var list = []string{"a", "../../../other"}
func f() { os.ReadFile("/srv/x"); os.Open("/proc/self/stat"); filepath.Glob("../../../b/*.json"); println("/srv/y", "a/../../..") }`
	if got := pathsOutside(t, "one/two_test.go", sample); len(got) != 4 {
		t.Errorf("of a sample with four paths outside, it finds %q", got)
	}
}

// pathsOutside returns the positions of strings in a file that lead out of the module.
func pathsOutside(t *testing.T, name string, src any) (list []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	find := func(e ast.Node, wrong func(text string) bool) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && wrong(text) {
				list = append(list, fmt.Sprintf("%s: %q leads out of the module", files.Position(lit.Pos()), text))
			}
		}
	}
	out := func(text string) bool {
		return strings.HasPrefix(text, "../") && strings.HasPrefix(path.Join(path.Dir(name), text), "../")
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if !matchAny(linkers, path.Dir(name)) {
			find(n, out)
		}
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > 0 && readsFiles(call.Fun) {
			find(call.Args[0], func(text string) bool {
				system := matchAny([]string{"/proc/...", "/dev/...", "/sys/...", "/etc/...", "/bin/...", "/usr/..."}, path.Clean(text))
				return strings.HasPrefix(text, "/") && !system || matchAny(linkers, path.Dir(name)) && out(text)
			})
		}
		return true
	})
	return list
}

// readsFiles reports whether a function reads the file or folder of its first argument.
func readsFiles(f ast.Expr) bool {
	of, ok := f.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := of.X.(*ast.Ident)
	return ok && slices.Contains([]string{"os.ReadFile", "os.Open", "os.ReadDir", "os.DirFS", "os.OpenRoot", "filepath.Glob", "filepath.WalkDir"}, pkg.Name+"."+of.Sel.Name)
}

func TestDiagramIsDrawnInTheDocs(t *testing.T) {
	doc, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range diagram {
		name := strings.TrimSuffix(r.pkg, "/...")
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			continue
		}
		if !strings.Contains(string(doc), "`"+name+"`") {
			t.Errorf("docs/architecture.md does not mention `%s`", name)
		}
	}
}

// The checker itself is proven on small trees, each with the one problem that
// its comment names, or "ok".
func TestCheckerFindsWrongArrows(t *testing.T) {
	tests := []struct{ name, want, tree string }{
		{"downwards is fine", "", `
-- index/index.go --
package index
import _ "github.com/mcpbroker/mcpbroker/discovery"
import _ "github.com/mcpbroker/mcpbroker/internal/tsname"
import _ "github.com/blevesearch/bleve/v2"
import _ "fmt"
`},
		{"sideways", `bridge/b.go:2: bridge imports index`, `
-- bridge/b.go --
package bridge
import _ "github.com/mcpbroker/mcpbroker/index"
`},
		{"upwards", `discovery/upstream/u.go:2: discovery/upstream imports broker`, `
-- discovery/upstream/u.go --
package upstream
import _ "github.com/mcpbroker/mcpbroker/broker"
`},
		{"hidden behind a build tag", `sandbox/worker/w_windows.go:3: sandbox/worker imports bridge`, `
-- sandbox/worker/w_windows.go --
//go:build windows
package worker
import _ "github.com/mcpbroker/mcpbroker/bridge"
`},
		{"sandbox learns of MCP", `sandbox/jsrun/j.go:2: sandbox/jsrun imports github.com/modelcontextprotocol/go-sdk/mcp`, `
-- sandbox/jsrun/j.go --
package jsrun
import _ "github.com/modelcontextprotocol/go-sdk/mcp"
`},
		{"contract draws on its implementation", `sandbox/s.go:2: sandbox imports sandbox/worker`, `
-- sandbox/s.go --
package sandbox
import _ "github.com/mcpbroker/mcpbroker/sandbox/worker"
`},
		{"vocabulary with a dependency", `discovery/d.go:2: discovery imports golang.org/x/text/width`, `
-- discovery/d.go --
package discovery
import _ "golang.org/x/text/width"
`},
		{"reserved module", `codegen/c.go:2: codegen imports github.com/evanw/esbuild/pkg/api`, `
-- codegen/c.go --
package codegen
import _ "github.com/evanw/esbuild/pkg/api"
`},
		{"esbuild beside script", `sandbox/jsrun/j.go:2: sandbox/jsrun imports github.com/evanw/esbuild/pkg/api`, `
-- sandbox/jsrun/j.go --
package jsrun
import _ "github.com/evanw/esbuild/pkg/api"
`},
		{"script reads with goja's parser and runs nothing", `sandbox/script/s.go:3: sandbox/script imports github.com/dop251/goja:`, `
-- sandbox/script/s.go --
package script
import _ "github.com/dop251/goja/parser"
import _ "github.com/dop251/goja"
`},
		{"somebody else's internals", `index/i.go:2: index imports state/sqlite`, `
-- index/i.go --
package index
import _ "github.com/mcpbroker/mcpbroker/state/sqlite"
`},
		{"test kit outside tests", `broker/b.go:2: broker imports internal/fakeupstream`, `
-- broker/b.go --
package broker
import _ "github.com/mcpbroker/mcpbroker/internal/fakeupstream"
`},
		{"test kit and neighbours in tests are fine", "", `
-- bridge/b_test.go --
package bridge
import _ "github.com/mcpbroker/mcpbroker/internal/fakeupstream"
import _ "github.com/mcpbroker/mcpbroker/discovery/upstream"
`},
		{"test looks upwards", `bridge/b_test.go:2: a test of bridge imports cmd/broker`, `
-- bridge/b_test.go --
package bridge
import _ "github.com/mcpbroker/mcpbroker/cmd/broker"
`},
		{"new package", `util/u.go:2: package util is not in the diagram`, `
-- util/u.go --
package util
import _ "fmt"
`},
		{"new package without imports", `util/u.go:1: package util is not in the diagram`, `
-- util/u.go --
package util
`},
		{"other modules and test data are not ours", "", `
-- tools/go.mod --
module x
-- tools/t.go --
package tools
import _ "github.com/mcpbroker/mcpbroker/broker"
-- index/testdata/t.go --
package t
import _ "github.com/mcpbroker/mcpbroker/broker"
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree, err := txtar.FS(txtar.Parse([]byte(tt.tree)))
			if err != nil {
				t.Fatal(err)
			}
			arrows, err := readArrows(tree)
			if err != nil {
				t.Fatal(err)
			}
			problems := check(arrows)
			switch {
			case tt.want == "" && len(problems) > 0:
				t.Errorf("unexpected problems: %q", problems)
			case tt.want != "" && (len(problems) != 1 || !strings.HasPrefix(problems[0], tt.want)):
				t.Errorf("problems = %q, want one that begins with %q", problems, tt.want)
			}
		})
	}
}

// check returns one line per arrow that the diagram does not have.
func check(arrows []arrow) []string {
	var problems []string
	unknown := map[string]bool{}
	for _, a := range arrows {
		r, ok := find(a.from)
		switch {
		case a.from == ".":
			// This file, and others like it.
		case !ok && !unknown[a.from]:
			unknown[a.from] = true
			problems = append(problems, fmt.Sprintf("%s: package %s is not in the diagram: add it to docs/architecture.md and to the table in arch_test.go", a.pos, a.from))
		case !ok || a.to == "":
		case a.test && matchAny(above, a.to) && !matchAny(above, a.from):
			problems = append(problems, fmt.Sprintf("%s: a test of %s imports %s, which is above it: move the test up", a.pos, a.from, a.to))
		case !a.test && !allowed(r, a.to):
			problems = append(problems, fmt.Sprintf("%s: %s imports %s: the diagram has no such arrow; hand in what it needs as a function or a small interface", a.pos, a.from, a.to))
		}
	}
	return problems
}

// find returns the row of a package: its own, else the one of a pattern.
func find(pkg string) (row, bool) {
	i := slices.IndexFunc(diagram, func(r row) bool { return r.pkg == pkg })
	if i < 0 {
		i = slices.IndexFunc(diagram, func(r row) bool { return match(r.pkg, pkg) })
	}
	if i < 0 {
		return row{}, false
	}
	return diagram[i], true
}

// allowed reports whether the package of r may import to, which is a
// directory of this module or the import path of another.
func allowed(r row, to string) bool {
	if first, _, _ := strings.Cut(to, "/"); !strings.Contains(first, ".") {
		return matchAny(r.imports, to) || slices.Contains(everywhere, to)
	}
	if len(r.modules) > 0 && !slices.ContainsFunc(r.modules, func(m string) bool { return match(m+"/...", to) }) {
		return false
	}
	if matchAny(readers, r.pkg) && matchAny(syntax, to) {
		return true
	}
	for m, owners := range reserved {
		if match(m+"/...", to) {
			return matchAny(owners, r.pkg)
		}
	}
	return true
}

func matchAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, pkg) })
}

// match reports whether pattern names pkg; "a/..." names a and all below it.
func match(pattern, pkg string) bool {
	base, deep := strings.CutSuffix(pattern, "/...")
	return pkg == base || deep && strings.HasPrefix(pkg, base+"/")
}

// readArrows returns the imports of every Go file of the module at the root of
// tree, for all operating systems and build tags, but not those of the
// standard library. A package always has one arrow to "", so that one without
// imports is seen too.
func readArrows(tree fs.FS) ([]arrow, error) {
	var arrows []arrow
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if name != "." && (base[0] == '.' || base[0] == '_') {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			if _, err := fs.Stat(tree, name+"/go.mod"); base == "testdata" || base == "dist" || name != "." && err == nil {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		found, err := fileArrows(tree, name)
		arrows = append(arrows, found...)
		return err
	})
	return arrows, err
}

func fileArrows(tree fs.FS, name string) ([]arrow, error) {
	src, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	a := arrow{from: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), pos: fmt.Sprintf("%s:%d", name, fset.Position(file.Package).Line)}
	var arrows []arrow
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		a.pos = fmt.Sprintf("%s:%d", name, fset.Position(spec.Pos()).Line)
		a.to = strings.TrimPrefix(imported, module+"/")
		if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
			a.to = "" // the standard library
		}
		arrows = append(arrows, a)
	}
	if len(arrows) == 0 {
		arrows = append(arrows, a)
	}
	return arrows, nil
}
