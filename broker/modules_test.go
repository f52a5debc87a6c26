package broker

import (
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
