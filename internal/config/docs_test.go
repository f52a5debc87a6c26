package config_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The page about the configuration has the keys that are read: those of each
// schema in this package are the keys of one of its tables.
func TestEveryKeyIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := make(map[string]string) // headings by keys
	for section := range strings.SplitSeq(string(page), "\n## ") {
		heading, text, _ := strings.Cut(section, "\n")
		var keys []string
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(text, -1) {
			for _, key := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
				keys = append(keys, key[1])
			}
		}
		slices.Sort(keys)
		tables[strings.Join(keys, " ")] = heading
	}
	// Named in the text, since they are other names of keys.
	aliases := []string{"serverUrl", "httpUrl", "enabled", "servers"}
	for _, schema := range schemas(t) {
		if _, ok := tables[strings.Join(schema, " ")]; !ok {
			schema = slices.DeleteFunc(schema, func(k string) bool { return slices.Contains(aliases, k) })
		}
		keys := strings.Join(schema, " ")
		if _, ok := tables[keys]; !ok {
			t.Errorf("no table of docs/configuration.md has the keys %s", keys)
		}
		delete(tables, keys)
	}
	delete(tables, "")
	for keys, heading := range tables {
		t.Errorf("docs/configuration.md, %s: nothing reads the keys %s", heading, keys)
	}
}

// schemas are the sorted keys of each schema in the files of this package.
func schemas(t *testing.T) [][]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found [][]string
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if name, ok := lit.Type.(*ast.Ident); !ok || name.Name != "schema" {
				return true
			}
			var keys []string
			for _, e := range lit.Elts {
				key := e.(*ast.KeyValueExpr).Key
				if text, ok := key.(*ast.BasicLit); ok {
					name, err := strconv.Unquote(text.Value)
					if err != nil {
						t.Fatal(err)
					}
					keys = append(keys, name)
				} else {
					keys = append(keys, map[string]string{"serversKey": "mcpServers", "serversKeyCode": "servers"}[key.(*ast.Ident).Name])
				}
			}
			slices.Sort(keys)
			found = append(found, keys)
			return true
		})
	}
	return found
}
