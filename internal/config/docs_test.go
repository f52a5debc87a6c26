package config

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sections are the tables of docs/configuration.md: each is of the schema that one
// function reads, the first or only one that begins with a key.
var sections = []struct{ heading, text, function, first string }{
	{"The file", "", "root", "serversKey"},
	{"A server", "One of `command` and `url` is required.", "server", "description"},
	{"`tools` of a server", "", "tools", "allow"},
	{"A tool in `override`", "What is left out stays as the server has it. [profiles.md](profiles.md#changing-tools) has an example.", "overrides", "name"},
	{"`oauth` of a server", "", "oauth", "clientId"},
	{"`broker`", "", "broker", "mode"},
	{"A profile in `profiles`", "[profiles.md](profiles.md) says more.", "profiles", "servers"},
	{"`tools` of a profile", "", "profileTools", "allow"},
	{"A project's `.broker.json`", "What it takes away holds at once; its servers start when you trust them: see [profiles.md](profiles.md#projects).", "project", "profile"},
	{"`audit` of `broker`", "", "broker", "code"},
	{"`redact` of `broker`", "", "broker", "secrets"},
	{"A quota in `quotas`", "Each has `every`, and one of `calls` and `executions`. [operations.md](operations.md#quotas) says more.", "quota", "per"},
	{"`telemetry` of `broker`", "Off unless there is an endpoint, here or in the environment.", "broker", "endpoint"},
	{"`search` of `broker`", "", "broker", "wait"},
	{"`sandbox` of `broker`", "", "sandbox", "isolation"},
	{"`remote` of `sandbox`", "[remote.md](remote.md) says more.", "remote", "addresses"},
	{"`docker` of `sandbox`", "[containers.md](containers.md#an-engine-elsewhere) says more.", "docker", "host"},
	{"`http` of `broker`", "", "broker", "tokens"},
	{"`signIn` of `http`", "", "signIn", "issuer"},
	{"`console` of `http`", "[console.md](console.md#for-a-team) says more.", "consoleSignIn", "claim"},
	{"A token in `tokens`", "", "tokens", "value"},
	{"`skills` of `broker`", "[skills.md](skills.md) says more.", "skills", "enabled"},
	{"`plugins` of `broker`", "", "plugins", "path"},
	{"A plugin in `plugins`", "", "plugin", "enabled"},
}

// The tables of docs/configuration.md are what the code reads: the keys of its schemas,
// with the comments of the fields that they set.
func TestConfigReference(t *testing.T) {
	src := readSource(t)
	var b strings.Builder
	for _, s := range sections {
		i := slices.IndexFunc(src.schemas, func(c readSchema) bool { return c.function == s.function && keyName(c.lit.Elts[0]) == s.first })
		if i < 0 {
			t.Fatalf("no function %s reads keys from %s on", s.function, s.first)
		}
		b.WriteString("\n## " + s.heading + "\n\n")
		if s.text != "" {
			b.WriteString(s.text + "\n\n")
		}
		src.table(t, &b, src.schemas[i])
		src.schemas = slices.Delete(src.schemas, i, i+1)
	}
	for _, c := range src.schemas {
		t.Errorf("no section has the keys from %s on that the function %s reads", keyName(c.lit.Elts[0]), c.function)
	}
	const file = "../../docs/configuration.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(page), "\n## "+sections[0].heading+"\n")
	if !ok {
		t.Fatalf("%s has no section %q", file, sections[0].heading)
	}
	want := before + b.String()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(page), want); diff != "" {
		t.Errorf("go test ./internal/config -run ConfigReference -update writes the tables (-page +program):\n%s", diff)
	}
}

// A readSchema is a schema in the source.
type readSchema struct {
	function string
	lit      *ast.CompositeLit
}

// source is what the package's files say.
type source struct {
	fset     *token.FileSet
	schemas  []readSchema
	info     types.Info
	fields   map[token.Pos]structField // by the names of fields
	comments []*ast.CommentGroup
}

type structField struct {
	of    string
	field *ast.Field
}

func readSource(t *testing.T) *source {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	src := &source{fset: token.NewFileSet(), fields: make(map[token.Pos]structField), info: types.Info{Selections: make(map[*ast.SelectorExpr]*types.Selection)}}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(src.fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		src.comments = append(src.comments, f.Comments...)
		function := ""
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				function = n.Name.Name
			case *ast.CompositeLit:
				if name, ok := n.Type.(*ast.Ident); ok && name.Name == "schema" {
					src.schemas = append(src.schemas, readSchema{function, n})
				}
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					for _, field := range s.Fields.List {
						for _, name := range field.Names {
							src.fields[name.Pos()] = structField{n.Name.Name, field}
						}
					}
				}
			}
			return true
		})
	}
	// Types of this package are known without those of others.
	conf := types.Config{Error: func(error) {}, Importer: nothing{}}
	_, _ = conf.Check("config", src.fset, files, &src.info)
	return src
}

// nothing imports nothing.
type nothing struct{}

func (nothing) Import(string) (*types.Package, error) { return nil, errors.ErrUnsupported }

func keyName(e ast.Expr) string {
	switch key := e.(*ast.KeyValueExpr).Key.(type) {
	case *ast.BasicLit:
		name, _ := strconv.Unquote(key.Value)
		return name
	case *ast.Ident:
		return key.Name
	}
	return ""
}

// A row is one of a table.
type row struct {
	keys                    []string
	kind, otherwise, saying string
}

func (src *source) table(t *testing.T, b *strings.Builder, s readSchema) {
	t.Helper()
	owner := ""
	for _, e := range s.lit.Elts {
		if f, ok := src.target(e.(*ast.KeyValueExpr).Value); ok && owner == "" {
			owner = f.of
		}
	}
	keys := make(map[string]string) // by the names of fields
	var rows []row
	at := make(map[ast.Node]int)
	for _, e := range s.lit.Elts {
		kv := e.(*ast.KeyValueExpr)
		name := map[string]string{"serversKey": "mcpServers", "serversKeyCode": "servers"}[keyName(e)]
		if name == "" {
			name = keyName(e)
		}
		r := row{keys: []string{"`" + name + "`"}, kind: kindOf(t, kv.Value)}
		var node ast.Node
		if comment := src.comment(kv); comment != nil {
			node = comment
			r.saying, r.otherwise = sentence(comment.Text(), nil)
		} else {
			f, ok := src.target(kv.Value)
			for pos := range src.fields {
				if g := src.fields[pos]; !ok && g.of == owner && slices.ContainsFunc(g.field.Names, func(n *ast.Ident) bool { return strings.EqualFold(n.Name, name) }) {
					f, ok = g, true
				}
			}
			if !ok {
				t.Errorf("%s: %q has no comment, and sets no field that has one", s.function, name)
				continue
			}
			node = f.field
			var names []string
			for _, n := range f.field.Names {
				names = append(names, n.Name)
				keys[n.Name] = name
			}
			r.saying, r.otherwise = sentence(f.field.Doc.Text(), names)
			if d := defaultOf(f); r.otherwise == "" {
				r.otherwise = d
			}
			if r.saying == "" {
				t.Errorf("%s: the field of %q has no comment", s.function, name)
			}
		}
		if i, ok := at[node]; ok {
			rows[i].keys = append(rows[i].keys, r.keys...)
			if !strings.Contains(rows[i].kind, r.kind) {
				rows[i].kind += "; " + r.kind
			}
			continue
		}
		at[node] = len(rows)
		rows = append(rows, r)
	}
	b.WriteString("| key | type | default | |\n|---|---|---|---|\n")
	for _, r := range rows {
		for field, key := range keys {
			named := regexp.MustCompile(`\b` + field + `\b`)
			r.saying, r.otherwise = named.ReplaceAllString(r.saying, "`"+key+"`"), named.ReplaceAllString(r.otherwise, "`"+key+"`")
		}
		line := fmt.Sprintf("| %s | %s | %s | %s |\n", strings.Join(r.keys, ", "), r.kind, r.otherwise, r.saying)
		b.WriteString(strings.ReplaceAll(line, "  |", " |"))
	}
}

// comment is what stands beside a key, or on the line above it.
func (src *source) comment(kv *ast.KeyValueExpr) *ast.CommentGroup {
	key, end := src.fset.Position(kv.Pos()), src.fset.Position(kv.End())
	for _, c := range src.comments {
		from, to := src.fset.Position(c.Pos()), src.fset.Position(c.End())
		if from.Filename == key.Filename && (from.Line == end.Line && from.Column > end.Column || to.Line == key.Line-1 && from.Column <= key.Column) {
			return c
		}
	}
	return nil
}

// target is the field that a value is read into.
func (src *source) target(value ast.Expr) (found structField, ok bool) {
	ast.Inspect(value, func(n ast.Node) bool {
		if _, is := n.(*ast.CompositeLit); is {
			return false // the keys of a schema within it
		}
		if u, is := n.(*ast.UnaryExpr); is && u.Op == token.AND && !ok {
			if sel, is := u.X.(*ast.SelectorExpr); is && src.info.Selections[sel] != nil {
				found, ok = src.fields[src.info.Selections[sel].Obj().Pos()]
			}
		}
		return true
	})
	return found, ok
}

// kinds are the types of what the methods of a collector read.
var kinds = map[string]string{
	"text": "text", "refText": "text", "filled": "text", "secret": "text", "clientSecret": "text", "command": "text", "containerPath": "path",
	"url": "address", "secureURL": "address", "metadataURL": "address", "database": "address", "objects": "address", "date": "date",
	"count": "number", "duration": "duration", "optionalDuration": "duration", "size": "size", "boolean": "boolean", "optionalBool": "boolean",
	"list": "list", "quotas": "list", "scopes": "list", "trust": "boolean, list", "keepAlive": "duration, `true`", "typecheck": "`\"auto\"`, `\"off\"`, `\"strict\"`, path",
	"stringMap": "object", "ofPerson": "object", "jsonMap": "object", "isolations": "object", "remote": "object", "docker": "object", "tokens": "object", "profiles": "object", "profileTools": "object, list", "tools": "object, list",
	"oauth": "object", "overrides": "object", "sandbox": "object", "skills": "object", "plugins": "object", "signIn": "object", "consoleSignIn": "object", "servers": "object", "broker": "object",
	"serverType": "`\"stdio\"`, `\"http\"`, `\"sse\"`",
}

// kindOf is the type of what an expression reads.
func kindOf(t *testing.T, value ast.Expr) string {
	if id, ok := value.(*ast.Ident); ok {
		return map[string]string{"readProfiles": "object"}[id.Name] // what is ignored has any
	}
	kind := ""
	ast.Inspect(value, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || kind != "" {
			return kind == ""
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			if f.Name == "section" || f.Name == "readProfiles" {
				kind = "object"
			}
		case *ast.SelectorExpr:
			if f.Sel.Name == "choice" {
				var words []string
				for _, a := range call.Args[2:] {
					words = append(words, "`"+a.(*ast.BasicLit).Value+"`")
				}
				kind = strings.Join(words, ", ")
			} else if kind = kinds[f.Sel.Name]; kind == "" && f.Sel.Name != "fail" {
				t.Errorf("the type of what %s reads is not known here", f.Sel.Name)
			}
		}
		return kind == ""
	})
	if kind == "" {
		return "object" // a function that looks no further
	}
	return kind
}

var (
	endOfSentence = regexp.MustCompile(`\.( |$)`)
	quoted        = regexp.MustCompile(`\{"[^}]*\}|"[^"]*"`)
	pageLink      = regexp.MustCompile(`See docs/([a-z-]+\.md)(#[a-z-]+)?\.`)
)

// sentence is the first of a comment, without the names that it begins with, the
// default that it ends with, and a link to the page that the comment names.
func sentence(comment string, names []string) (saying, otherwise string) {
	comment = strings.Join(strings.Fields(comment), " ")
	saying = comment
	if at := endOfSentence.FindStringIndex(comment); at != nil {
		saying = comment[:at[0]]
	}
	begin := strings.Join(names, " and ")
	saying = strings.TrimSpace(strings.TrimPrefix(saying, begin))
	for _, verb := range []string{"is ", "are "} {
		saying = strings.TrimPrefix(saying, verb)
	}
	saying, otherwise, _ = strings.Cut(saying, "; default ")
	code := func(s string) string {
		return quoted.ReplaceAllStringFunc(s, func(q string) string { return "`" + q + "`" })
	}
	saying, otherwise = code(saying), code(otherwise)
	if strings.HasPrefix(saying, "The ") {
		saying = "t" + saying[1:]
	}
	if number.MatchString(otherwise) {
		otherwise = "`" + otherwise + "`"
	}
	if m := pageLink.FindStringSubmatch(comment); m != nil {
		saying += ": [" + m[1] + "](" + m[1] + m[2] + ")"
	}
	return saying, otherwise
}

var number = regexp.MustCompile(`^(\d+|true|false)$`)

// defaultOf is the default of a field as people write it, or nothing.
func defaultOf(f structField) string {
	if id, ok := f.field.Type.(*ast.Ident); ok && id.Name == "bool" {
		return "`false`"
	}
	v := findStruct(reflect.ValueOf(Broker{}.WithDefaults()), f.of)
	if !v.IsValid() {
		return ""
	}
	v = v.FieldByName(f.field.Names[0].Name)
	if v.IsZero() {
		return ""
	}
	switch d := reflect.Indirect(v).Interface().(type) {
	case string:
		return "`" + strconv.Quote(d) + "`"
	case bool, int:
		return fmt.Sprintf("`%v`", d)
	case time.Duration:
		return fmt.Sprintf("`\"%vs\"`", d.Seconds())
	case int64:
		if d%(1<<20) == 0 {
			return fmt.Sprintf("`\"%dMiB\"`", d>>20)
		}
		return fmt.Sprintf("`\"%dKiB\"`", d>>10)
	}
	return ""
}

// findStruct is the struct of a type within v.
func findStruct(v reflect.Value, name string) reflect.Value {
	if v.Type().Name() == name {
		return v
	}
	for _, f := range v.Fields() {
		if f.Kind() == reflect.Struct {
			if found := findStruct(f, name); found.IsValid() {
				return found
			}
		}
	}
	return reflect.Value{}
}
