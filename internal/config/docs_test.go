package config

import (
	"cmp"
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

	gocmp "github.com/google/go-cmp/cmp"
)

// A section is a table of docs/configuration.md: of the settings in the struct of a type
// whose names begin with prefix, then of the schema that a function reads and that begins
// with a key.
type section struct {
	heading, text, function, first string
	settings                       any
	prefix                         string
}

var sections = []section{
	{heading: "The file", text: "", function: "root", first: "serversKey"},
	{heading: "A server", text: "One of `command` and `url` is required.", settings: Server{}, function: "server", first: "type"},
	{heading: "`tools` of a server", text: "", settings: Server{}, prefix: "tools."},
	{heading: "A tool in `override`", text: "What is left out stays as the server has it. [profiles.md](profiles.md#changing-tools) has an example.", settings: Override{}},
	{heading: "`oauth` of a server", text: "", settings: OAuth{}},
	{heading: "`broker`", text: "", settings: Broker{}},
	{heading: "A profile in `profiles`", text: "[profiles.md](profiles.md) says more.", settings: Profile{}, function: "profiles", first: "tools"},
	{heading: "`tools` of a profile", text: "", settings: Profile{}, prefix: "tools."},
	{heading: "A project's `.broker.json`", text: "What it takes away holds at once; its servers start when you trust them: see [profiles.md](profiles.md#projects).", settings: Profile{}, function: "project", first: "profile"},
	{heading: "`audit` of `broker`", text: "", settings: Audit{}},
	{heading: "`redact` of `broker`", text: "", settings: Redact{}},
	{heading: "A quota in `quotas`", text: "Each has `every`, and one of `calls` and `executions`. [operations.md](operations.md#quotas) says more.", settings: Quota{}},
	{heading: "`telemetry` of `broker`", text: "Off unless there is an endpoint, here or in the environment.", settings: Telemetry{}},
	{heading: "`search` of `broker`", text: "", settings: Search{}},
	{heading: "`sandbox` of `broker`", text: "", settings: Sandbox{}},
	{heading: "`remote` of `sandbox`", text: "[remote.md](remote.md) says more.", settings: RemoteSandbox{}},
	{heading: "`docker` of `sandbox`", text: "[containers.md](containers.md#an-engine-elsewhere) says more.", settings: DockerEngine{}},
	{heading: "`http` of `broker`", text: "", settings: HTTP{}},
	{heading: "`signIn` of `http`", text: "", settings: SignIn{}},
	{heading: "`console` of `http`", text: "[console.md](console.md#for-a-team) says more.", settings: ConsoleSignIn{}},
	{heading: "A token in `tokens`", text: "", settings: Token{}},
	{heading: "`skills` of `broker`", text: "[skills.md](skills.md) says more.", settings: Skills{}},
	{heading: "`plugins` of `broker`", text: "", settings: Plugins{}},
	{heading: "A plugin in `plugins`", text: "", function: "plugin", first: "enabled"},
}

// The tables of docs/configuration.md are what the code reads: the keys of its schemas,
// with the comments of the fields that they set.
func TestConfigReference(t *testing.T) {
	src := readSource(t)
	var b strings.Builder
	for _, s := range sections {
		b.WriteString("\n## " + s.heading + "\n\n")
		if s.text != "" {
			b.WriteString(s.text + "\n\n")
		}
		keys := make(map[string]string) // by the names of fields
		var rows []row
		if s.settings != nil {
			rows = src.settingRows(t, reflect.TypeOf(s.settings), s.prefix, keys)
		}
		if s.function == "" {
			writeTable(&b, rows, keys)
			continue
		}
		i := slices.IndexFunc(src.schemas, func(c readSchema) bool { return c.function == s.function && keyName(c.lit.Elts[0]) == s.first })
		if i < 0 {
			t.Fatalf("no function %s reads keys from %s on", s.function, s.first)
		}
		rows = append(rows, src.schemaRows(t, src.schemas[i], rows, keys)...)
		writeTable(&b, rows, keys)
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
	if diff := gocmp.Diff(string(page), want); diff != "" {
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
			case *ast.CallExpr:
				f, ok := n.Fun.(*ast.SelectorExpr)
				return !ok || f.Sel.Name != "settings" && f.Sel.Name != "part" && f.Sel.Name != "tools" // their tags say it
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

// schemaRows returns the rows of the keys in a schema that documented does not have.
func (src *source) schemaRows(t *testing.T, s readSchema, documented []row, keys map[string]string) []row {
	t.Helper()
	owner := ""
	for _, e := range s.lit.Elts {
		if f, ok := src.target(e.(*ast.KeyValueExpr).Value); ok && owner == "" {
			owner = f.of
		}
	}
	var rows []row
	at := make(map[ast.Node]int)
	for _, e := range s.lit.Elts {
		kv := e.(*ast.KeyValueExpr)
		name := map[string]string{"serversKey": "mcpServers", "serversKeyCode": "servers"}[keyName(e)]
		if name == "" {
			name = keyName(e)
		}
		if slices.ContainsFunc(documented, func(r row) bool { return slices.Contains(r.keys, "`"+name+"`") }) {
			continue // its tags say it
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
	return rows
}

// writeTable writes rows, with the keys in place of the names of fields.
func writeTable(b *strings.Builder, rows []row, keys map[string]string) {
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

// settingRows returns the rows of the settings in a struct whose names begin with prefix, from
// their tags and comments.
func (src *source) settingRows(t *testing.T, typ reflect.Type, prefix string, keys map[string]string) (rows []row) {
	t.Helper()
	for f := range typ.Fields() {
		name, within := strings.CutPrefix(f.Tag.Get("name"), prefix)
		if !within || name == "" || strings.Contains(name, ".") {
			continue
		}
		keys[f.Name] = name
		comment := ""
		for _, field := range src.fields {
			if field.of == typ.Name() && field.field.Names[0].Name == f.Name {
				comment = field.field.Doc.Text()
			}
		}
		r := row{kind: settingKind(f)}
		for _, key := range append([]string{name}, strings.Fields(f.Tag.Get("also"))...) {
			r.keys = append(r.keys, "`"+key+"`")
		}
		if r.saying, r.otherwise = sentence(comment, []string{f.Name}); r.saying == "" {
			t.Errorf("%s.%s has no comment", typ.Name(), f.Name)
		}
		if r.otherwise == "" {
			r.otherwise = settingDefault(f)
		}
		if within := []string{"RemoteSandbox", "DockerEngine", "SignIn", "ConsoleSignIn"}; f.Tag.Get("reload") == "restart" && !slices.Contains(within, typ.Name()) {
			r.saying += "; a change needs a restart"
		}
		rows = append(rows, r)
	}
	return rows
}

// ownKinds are the types of settings that are read in several forms.
var ownKinds = map[string]string{
	"type": "`\"stdio\"`, `\"http\"`, `\"sse\"`", "keepAlive": "duration, `true`", "instructions": "`false`, number, text", "expires": "date", "trustProject": "boolean, list", "typecheck": "`\"auto\"`, `\"off\"`, `\"strict\"`, path"}

// settingKind is the type of a setting as people write it.
func settingKind(f reflect.StructField) string {
	if kind := ownKinds[f.Tag.Get("name")]; kind != "" {
		return kind
	}
	if words := strings.Fields(f.Tag.Get("words")); len(words) > 0 {
		return "`\"" + strings.Join(words, "\"`, `\"") + "\"`"
	}
	typ := f.Type
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case typ == reflect.TypeFor[time.Duration]():
		return "duration"
	case typ.Kind() == reflect.String:
		return cmp.Or(map[string]string{"containerPath": "path", "database": "address", "metadataURL": "address", "objects": "address", "secureURL": "address", "url": "address"}[f.Tag.Get("read")], "text")
	}
	return cmp.Or(map[reflect.Kind]string{reflect.Int: "number", reflect.Int64: "size", reflect.Bool: "boolean", reflect.Slice: "list"}[typ.Kind()], "object")
}

// settingDefault is the default of a setting as people write it, or nothing.
func settingDefault(f reflect.StructField) string {
	text, ok := f.Tag.Lookup("default")
	typ := f.Type
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case !ok && f.Type.Kind() == reflect.Bool:
		return "`false`"
	case !ok:
		return ""
	case typ.Kind() == reflect.Int || typ.Kind() == reflect.Bool:
		return "`" + text + "`"
	}
	return "`" + strconv.Quote(text) + "`"
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
	"list": "list", "quotas": "list", "scopes": "list", "trust": "boolean, list", "keepAlive": "duration, `true`", "instructions": "`false`, number, text", "typecheck": "`\"auto\"`, `\"off\"`, `\"strict\"`, path",
	"stringMap": "object", "personalField": "object", "jsonMap": "object", "isolations": "object", "remote": "object", "docker": "object", "tokens": "object", "profiles": "object", "profileTools": "object, list", "tools": "object, list",
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

// defaultOf is the default of a field that is no setting, as people write it, or nothing.
func defaultOf(f structField) string {
	if id, ok := f.field.Type.(*ast.Ident); ok && id.Name == "bool" {
		return "`false`"
	}
	return ""
}
