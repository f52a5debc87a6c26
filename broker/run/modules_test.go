package run

import (
	"maps"
	"slices"
	"strings"
	"testing"

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
