package run

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

// A server is used by a script that imports it or takes a member of its
// namespace, and not by one in which its name is part of another word.
func TestWhichServersAScriptUses(t *testing.T) {
	for _, c := range []struct {
		server, code          string
		imported, used, bound bool
	}{
		{"e", "console.log(1); const me = e2", false, false, false},
		{"log", "console.log(1)", false, false, false},
		{"log", "log.write({})", false, true, true},
		{"log", "const { write } = log", false, false, true},
		{"log", "use(...log.items)", false, true, true},
		{"log", "x = log\n  ?.write", false, true, true},
		{"log", "log['write']({})", false, true, true},
		{"git-hub", "import { a } from './servers/git-hub'", true, false, false},
		{"git-hub", "import { a } from \"@/servers/git-hub/a.ts\"", true, false, false},
		{"git-hub", "import { a } from './servers/git-hub-2'", false, false, false},
		{"git-hub", "gitHub.a()", false, true, true},
		{"git-hub", "mygitHub.a(); gitHub2.b()", false, false, false},
		{"", "server.x", false, true, true},
	} {
		s := discovery.NewCatalog([]discovery.Listing{{Server: c.server}}).Servers()[0]
		imported, used, bound := imports(c.code, s), hasWord(c.code, s.Namespace, usedAsNamespace), hasWord(c.code, s.Namespace, nil)
		if imported != c.imported || used != c.used || bound != c.bound {
			t.Errorf("%q in %q: imported %v, used %v, bound %v; want %v, %v, %v", c.server, c.code, imported, used, bound, c.imported, c.used, c.bound)
		}
	}
}

// The module of a server has only the functions that a script names, where it can
// have no others.
func TestModulesHaveWhatAScriptNames(t *testing.T) {
	list := discovery.Listing{Server: "shop"}
	for _, name := range []string{"add_item", "list_items", "pay"} {
		list.Tools = append(list.Tools, discovery.ListedTool{Name: name})
	}
	s := discovery.NewCatalog([]discovery.Listing{list}).Servers()[0]
	for code, want := range map[string]string{
		"import { pay } from './servers/shop'; pay({})":                         "pay",
		"import { pay as p, addItem, } from \"@/servers/shop\"\np(addItem)":     "addItem pay",
		"import {\n  pay,\n  listItems,\n} from './servers/shop';":              "listItems pay",
		"await shop.addItem({})":                                                "addItem",
		"shop?.pay(); console.log('shop', \"the shop is open\", `a shop or`)":   "pay",
		"import { pay } from './servers/shop'; await shop.listItems()":          "listItems pay",
		"import { pay } from './servers/shop'; import { x } from './servers/b'": "pay",
		// The others may be wanted,
		"import * as s from './servers/shop'":            "all",
		"import shop from './servers/shop'":              "all",
		"const { pay } = await import('./servers/shop')": "all",
		"import pay from './servers/shop/pay'":           "all",
		"import { pay } from './servers/shop'; f(shop)":  "all",
		"shop[name]()":                       "all",
		"const { pay } = shop; pay()":        "all",
		"for (const k in shop) k":            "all",
		"f({ ...shop })":                     "all",
		"const all = shop as any; all.pay()": "all",
		"shop?.[name]()":                     "all",
		"import { pay } from './servers/shop'; export * from './servers/shop'": "all",
		// or have to be listed in an error.
		"import { pya } from './servers/shop'":               "all",
		"import { pay, default as s } from './servers/shop'": "all",
		"shop.pya()": "all",
		"import { type PayInput, pay } from './servers/shop'": "all",
	} {
		got := "all"
		if named := namedTools(code, wordsOf(code), s); named != nil {
			got = strings.Join(slices.Sorted(maps.Keys(named)), " ")
		}
		if got != want {
			t.Errorf("%s\nhas %s, want %s", code, got, want)
		}
	}
}

// A script that names the functions that read resources and prompts has them in the
// module of a server that offers some, unless a tool has the name.
func TestModulesReadResourcesAndPrompts(t *testing.T) {
	doc, ask := []discovery.ListedResource{{URI: "doc://a", Name: "a"}}, []discovery.ListedPrompt{{Name: "ask"}}
	lists := []discovery.Listing{
		{Server: "docs", Tools: []discovery.ListedTool{{Name: "list"}}, Resources: doc, Prompts: ask},
		{Server: "asks", Prompts: ask},
		{Server: "own", Tools: []discovery.ListedTool{{Name: "readResource"}}, Resources: doc},
		{Server: "none", Tools: []discovery.ListedTool{{Name: "list"}}},
	}
	scope := discovery.NewCatalog(lists)
	for _, tt := range []struct{ server, code, want string }{
		{"docs", "return docs.readResource({ uri: 'doc://a' })", "readResource=docs__read_resource"},
		{"docs", "import { readResource, list } from './servers/docs'; return [await list(), await readResource({ uri: 'doc://a' })]", "list=docs__list readResource=docs__read_resource"},
		{"docs", "return docs.getPrompt({ name: 'ask' })", "getPrompt=docs__get_prompt"},
		{"docs", "return docs.list()", "list=docs__list"},
		{"asks", "return asks.getPrompt({ name: 'ask' })", "getPrompt=asks__get_prompt"},
		{"asks", "return asks.readResource({ uri: 'doc://a' })", ""},
		{"own", "return own.readResource({})", "readResource=own__readResource"},
		{"none", "return none.readResource({})", "list=none__list"},
	} {
		s, _ := scope.Server(tt.server)
		words := wordsOf(tt.code)
		with := withReaders(scope, s, words)
		m := codegen.RunModule(with, namedTools(tt.code, words, with))
		var got []string
		for _, f := range m.Exports {
			_, rest, _ := strings.Cut(m.Source, "const "+f+" = (input) => callMCPTool(\"")
			id, _, _ := strings.Cut(rest, `"`)
			got = append(got, f+"="+id)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.code, got, tt.want)
		}
	}
}
