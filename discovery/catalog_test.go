package discovery_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

func listing(server string, tools ...string) discovery.Listing {
	l := discovery.Listing{Server: server}
	for _, t := range tools {
		l.Tools = append(l.Tools, discovery.ListedTool{Name: t})
	}
	return l
}

func TestNamesOfServersAndTools(t *testing.T) {
	c := discovery.NewCatalog([]discovery.Listing{
		listing("google-drive", "get_document", "getDocument", "Get-Document", "delete", "2fa", "日本"),
		listing("google_drive", "get_document"),
		listing("Google Drive", "x"),
		listing("fetch", "fetch"),
		listing("..", "a/b"),
		listing("", ""),
	})
	type row struct{ Folder, Namespace, ID, Func, Path string }
	var got []row
	for _, s := range c.Servers() {
		for _, tool := range s.Tools {
			got = append(got, row{s.Folder, s.Namespace, tool.ID, tool.Func, tool.WrapperPath})
		}
	}
	want := []row{
		{"google-drive", "googleDrive_f4165d77", "google_drive_f4165d77__get_document", "getDocument_e6fc1ae1", "servers/google-drive/getDocument_e6fc1ae1.ts"},
		{"google-drive", "googleDrive_f4165d77", "google_drive_f4165d77__getDocument", "getDocument", "servers/google-drive/getDocument.ts"},
		{"google-drive", "googleDrive_f4165d77", "google_drive_f4165d77__Get-Document", "getDocument_26319aec", "servers/google-drive/getDocument_26319aec.ts"},
		{"google-drive", "googleDrive_f4165d77", "google_drive_f4165d77__delete", "delete_", "servers/google-drive/delete_.ts"},
		{"google-drive", "googleDrive_f4165d77", "google_drive_f4165d77__2fa", "_2fa", "servers/google-drive/_2fa.ts"},
		{"google-drive", "googleDrive_f4165d77", "google_drive_f4165d77__日本", "日本", "servers/google-drive/日本.ts"},
		{"google_drive", "googleDrive_ce41385b", "google_drive__get_document", "getDocument", "servers/google_drive/getDocument.ts"},
		{"Google-Drive-915ef4ba", "googleDrive_915ef4ba", "Google_Drive_915ef4ba__x", "x", "servers/Google-Drive-915ef4ba/x.ts"},
		{"fetch", "fetch_", "fetch__fetch", "fetch", "servers/fetch/fetch.ts"},
		{"--", "server_5ec1f7e7", "____a/b", "aB", "servers/--/aB.ts"},
		{"-", "server_e3b0c442", "___", "tool", "servers/-/tool.ts"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// Names that differ only in characters outside ASCII identify the same server and tool
// in any order of the config, and with any of the servers disabled.
func TestNamesDoNotDependOnOrder(t *testing.T) {
	names := []string{"高德地图", "百度地图", "my-notes", "my notes", "my_notes", "Mail", "mail", "Погода", "погода", "🗺️", "🧭", "हिन्दी", "plain", "github"}
	tools := []string{"查询天气", "查询路线", "get_user", "get-user", "🔍", "📍", "one"}
	all := make([]discovery.Listing, len(names))
	for i, name := range names {
		all[i] = listing(name, tools...)
	}
	known := make(map[string]string) // tool id by each of its names
	note := func(c *discovery.Catalog) {
		for _, s := range c.Servers() {
			for _, tool := range s.Tools {
				is := tool.Server + " " + tool.Name
				for _, name := range []string{tool.ID, tool.WrapperPath, s.Namespace + "." + tool.Func, s.Folder + "." + tool.Func, s.Prefix + "." + tool.Func} {
					if before, ok := known[name]; ok && before != is {
						t.Errorf("%s is %s, and was %s", name, is, before)
					}
					known[name] = is
				}
			}
		}
	}
	first := discovery.NewCatalog(all)
	note(first)
	ids := first.SortedIDs()
	rotate := func(i int) []discovery.Listing {
		list := slices.Concat(all[i:], all[:i])
		for j := range list {
			n := (i + j) % len(tools)
			list[j] = listing(list[j].Server, slices.Concat(tools[n:], tools[:n])...)
		}
		return list
	}
	for i, name := range names {
		list := rotate(i)
		note(discovery.NewCatalog(list))
		c := discovery.NewCatalog(list[1:], name)
		note(c)
		for _, id := range ids {
			tool, ok := c.Tool(id)
			switch is := known[id]; {
			case ok && tool.Server+" "+tool.Name != is:
				t.Errorf("without %s, %s is %s %s, and was %s", name, id, tool.Server, tool.Name, is)
			case !ok && !strings.HasPrefix(is, name+" "):
				t.Errorf("without %s, there is no %s", name, id)
			}
		}
		gone, _ := first.Server(name)
		for _, alias := range []string{name, gone.Prefix, gone.Folder, gone.Namespace} {
			if s, ok := c.FindServer(alias); ok {
				t.Errorf("without %s, %s is %s", name, alias, s.Listing.Server)
			}
		}
	}
	for _, name := range []string{"plain", "github"} {
		if s, _ := first.Server(name); s.Prefix != name || s.Folder != name || s.Namespace != name {
			t.Errorf("%s is called %s, %s and %s", name, s.Prefix, s.Folder, s.Namespace)
		}
	}
}

// Whatever a server calls its tools, it does not take an id or a full name that
// belongs to another server.
func TestAToolTakesNoIDOfAnotherServer(t *testing.T) {
	honest := listing("foo--bar", "read")
	alone := discovery.NewCatalog([]discovery.Listing{honest}).Tools()[0].ID
	others := []discovery.Listing{
		listing("foo", "bar__read", "_bar__read", "-bar.read", "bar/read"),
		listing("foo-", "bar__read", "-bar.read", "x"),
		listing("f", "oo_bar__read", "oo__bar__read"),
		listing("_", "foo_bar__read"),
	}
	for i := range len(others) + 1 {
		list := slices.Concat(others[:i], []discovery.Listing{honest}, others[i:])
		c := discovery.NewCatalog(list)
		seen := map[string]bool{}
		for _, tool := range c.Tools() {
			if seen[tool.ID] {
				t.Errorf("two tools have the id %q", tool.ID)
			}
			seen[tool.ID] = true
			if got, ok := c.Tool(tool.ID); !ok || got != tool {
				t.Errorf("the id %q leads to %v", tool.ID, got)
			}
			if tool.Server == honest.Server && tool.ID != alone {
				t.Errorf("behind %d others, the id is %q, and alone %q", i, tool.ID, alone)
			}
		}
		if got, _ := c.Tool("foo--bar.read"); got == nil || got.Server != honest.Server {
			t.Errorf("behind %d others, foo--bar.read is %v", i, got)
		}
	}
	starting := discovery.NewCatalog([]discovery.Listing{listing("foo", "bar.read"), listing("foo.bar")})
	if got, ok := starting.Tool("foo.bar.read"); ok {
		t.Errorf("before foo.bar is listed, foo.bar.read is a tool of %s", got.Server)
	}
	if s, ok := starting.ServerOf("foo.bar.read"); !ok || s.Listing.Server != "foo.bar" {
		t.Errorf("before it is listed, foo.bar.read belongs to %v", s)
	}
}

// Tools whose names differ in style only are found by their own names: an id is
// the tool's name behind that of its server, whatever else there is.
func TestNamesThatDifferInStyle(t *testing.T) {
	c := discovery.NewCatalog([]discovery.Listing{listing("s", "GetUser", "get_user", "getUser", "get-user")})
	for _, tool := range c.Tools() {
		for _, name := range []string{"s__" + tool.Name, "s." + tool.Name, "s/" + tool.Name, "s:" + tool.Func, "s__" + tool.Func} {
			if got, _ := c.Tool(name); got != tool {
				t.Errorf("%s leads to %v, want %s", name, got, tool.Name)
			}
		}
	}
}

func TestToolIsFoundByEveryOfItsNames(t *testing.T) {
	c := discovery.NewCatalog([]discovery.Listing{
		listing("google-drive", "get_document", "a.b/c"),
		listing("google", "drive.get_document"),
		listing("v1.api", "run"),
	})
	for name, want := range map[string]string{
		"google_drive__get_document": "google_drive__get_document",
		"google-drive.get_document":  "google_drive__get_document",
		"google-drive/get_document":  "google_drive__get_document",
		"google-drive:get_document":  "google_drive__get_document",
		"googleDrive.getDocument":    "google_drive__get_document",
		"google-drive.a.b/c":         "google_drive__a.b/c",
		"google.drive.get_document":  "google__drive.get_document",
		"v1.api.run":                 "v1_api__run",
		"v1_api__run":                "v1_api__run",
		"google-drive.nothing":       "",
		"nothing.get_document":       "",
		"get_document":               "",
		"":                           "",
	} {
		got := ""
		if tool, ok := c.Tool(name); ok {
			got = tool.ID
		}
		if got != want {
			t.Errorf("Tool(%q) = %q, want %q", name, got, want)
		}
	}
	if s, ok := c.ServerOf("googleDrive.nothing"); !ok || s.Listing.Server != "google-drive" {
		t.Errorf("ServerOf an unknown tool = %v, %v; want google-drive", s, ok)
	}
}

func TestFilterKeepsNames(t *testing.T) {
	yes := true
	c := discovery.NewCatalog([]discovery.Listing{{Server: "s", Tools: []discovery.ListedTool{
		{Name: "do_it"}, {Name: "doIt_", Annotations: discovery.Annotations{ReadOnly: &yes}},
	}}})
	f := c.Filter((*discovery.Tool).ReadOnly)
	if len(f.Tools()) != 1 || f.Tools()[0].Func != c.Tools()[1].Func {
		t.Errorf("filtered tools %v, want the read-only one under its old name", f.SortedIDs())
	}
	if _, ok := f.Tool("s.do_it"); ok {
		t.Error("a tool that was filtered out is still found")
	}
	if _, ok := c.Tool("s.do_it"); !ok {
		t.Error("filtering changed the original")
	}
}

func TestWrapsResult(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"result":{"type":"string"}}}`: true,
		`{"type":"object","properties":{"result":{},"more":{}}}`:      false,
		`{"type":"object","properties":{"results":{}}}`:               false,
		`{"type":"object"}`: false,
		`true`:              false,
		``:                  false,
	} {
		tool := discovery.Tool{ListedTool: discovery.ListedTool{OutputSchema: json.RawMessage(schema)}}
		if got := tool.WrapsResult(); got != want {
			t.Errorf("WrapsResult of %s = %v, want %v", schema, got, want)
		}
	}
}

// A name of many separators is looked up as fast as one of few.
func TestLookupIsLinear(t *testing.T) {
	c := discovery.NewCatalog([]discovery.Listing{listing("a.b.c", "x"), listing("a", "b.c.x", "y")})
	for _, begin := range []string{"", "a.", "a.b.c.", "nothing"} {
		for _, sep := range []string{"__", ".", "/x", ":"} {
			name := begin + strings.Repeat(sep, 4<<20/len(sep))
			start := time.Now()
			_, known := c.Tool(name)
			_, server := c.ServerOf(name)
			if known || server != strings.HasPrefix(begin, "a.") {
				t.Errorf("%s…%s: found %t, its server %t", begin, sep, known, server)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Fatalf("%s…%s: %v", begin, sep, took)
			}
		}
	}
}

// A config key identifies its server, wherever it is in the config and whatever the
// names of other servers are.
func TestConfigKeysComeBeforeOtherNames(t *testing.T) {
	for _, keys := range [][2]string{
		{"Mail", "mail"},                 // by case
		{"google drive", "google_drive"}, // by prefix
		{"google drive", "google-drive"}, // by folder
		{"google-drive", "googleDrive"},  // by namespace
		{"my.crm!", "my.crm-"},           // by folder, with a separator in it
		{"ＭＡＩＬ", "____"},                 // by a prefix of replaced letters only
	} {
		for _, list := range [][]discovery.Listing{
			{listing(keys[0], "read", "a"), listing(keys[1], "read", "b")},
			{listing(keys[1], "read", "b"), listing(keys[0], "read", "a")},
			{listing(keys[0], "read", "a"), listing(keys[1])}, // not listed yet
		} {
			c := discovery.NewCatalog(list)
			for _, key := range keys {
				for _, sep := range []string{".", "/", ":"} {
					if s, ok := c.ServerOf(key + sep + "read"); !ok || s.Listing.Server != key {
						t.Errorf("%q: %q leads to %v", keys, key+sep+"read", s)
					}
				}
				if own := tsname.Prefix(key); own == key && !strings.EqualFold(keys[0], keys[1]) && len(list[0].Tools)*len(list[1].Tools) > 0 {
					if tool, ok := c.Tool(key + "__read"); !ok || tool.Server != key {
						t.Errorf("%q: the id of %q leads to %v", keys, key, tool)
					}
				}
				if s, ok := c.Server(key); !ok || tsname.Namespace(key) == key && s.Namespace != key || tsname.Folder(key) == key && s.Folder != key && !strings.EqualFold(keys[0], keys[1]) {
					t.Errorf("%q: %q is called %q and %q", keys, key, s.Namespace, s.Folder)
				}
				if s, ok := c.FindServer(key); !ok || s.Listing.Server != key {
					t.Errorf("%q: %q finds %v", keys, key, s)
				}
				// It identifies no other server if its own is hidden.
				f := c.Narrow(func(s *discovery.Server) bool { return s.Listing.Server != key }, func(*discovery.Tool) bool { return true })
				if tool, ok := f.Tool(key + ".read"); ok {
					t.Errorf("%q: without it, %q leads to %s", keys, key+".read", tool.ID)
				}
			}
		}
	}
	c := discovery.NewCatalog([]discovery.Listing{listing("Mail-1", "read"), listing("MAIL_1", "read")})
	if s, _ := c.FindServer("mail_1"); s.Listing.Server != "MAIL_1" {
		t.Errorf("without regard to case, mail_1 finds %q", s.Listing.Server)
	}
}

// What is joined means that very tool, whatever separators the names have, and in a part of
// the catalogue that tool or none.
func TestJoinedNamesMeanOneTool(t *testing.T) {
	tools := []string{"c", "b", "b__c", "b.c", "b/c", "b:c", "b__c.d", "_c", ".c", "c__", "__", "a__b"}
	keys := []string{"a", "a__b", "a.b", "a/b", "a:b", "ab", "a_", "a__b.c", "a__b__"}
	var list []discovery.Listing
	for _, key := range keys {
		list = append(list, listing(key, append(slices.Clone(tools), "b\x1fc")...))
	}
	c := discovery.NewCatalog(list, "a.off", "a__off")
	check := func(c *discovery.Catalog, part string, kept func(*discovery.Tool) bool) {
		for _, s := range c.Servers() {
			for _, alias := range []string{s.Listing.Server, s.Prefix} {
				for _, tool := range tools {
					got, ok := c.Tool(discovery.JoinName(alias, tool))
					if ok && (got.Server != s.Listing.Server || got.Name != tool) {
						t.Errorf("%s: %q of %q is %q of %q", part, tool, alias, got.Name, got.Server)
					}
					if want := kept(&discovery.Tool{ListedTool: discovery.ListedTool{Name: tool}, Server: s.Listing.Server}); ok != want {
						t.Errorf("%s: %q of %q is found: %t", part, tool, alias, ok)
					}
				}
			}
		}
		for _, name := range []string{"a.off", "a__off", "nobody", "", "a\x1f"} {
			if got, ok := c.Tool(discovery.JoinName(name, "c")); ok {
				t.Errorf("%s: c of %q is %q of %q", part, name, got.Name, got.Server)
			}
		}
	}
	check(c, "all", func(*discovery.Tool) bool { return true })
	for _, hidden := range keys {
		for _, tool := range tools {
			keep := func(t *discovery.Tool) bool { return t.Server != hidden || t.Name != tool }
			check(c.Filter(keep), "without "+hidden+" "+tool, keep)
		}
	}
	if got := discovery.ShownName(discovery.JoinName("a__b", "c.d")); got != "a__b.c.d" {
		t.Errorf("it is shown as %q", got)
	}
}

// A name means the same tool in a part of a catalogue as in all of it, or none.
func TestNamesMeanTheSameInAPart(t *testing.T) {
	list := []discovery.Listing{
		listing("a", "b.c", "b__c", "b/c", "b:c", "off.c", "off__c"), listing("a.b", "c", "d"), listing("a__b", "c", "d"), listing("a/b", "c"), listing("a:b", "c"),
	}
	c := discovery.NewCatalog(list, "a.off")
	var names []string
	for _, s := range c.Servers() {
		for _, tool := range s.Tools {
			names = append(names, tool.ID)
			for _, sep := range []string{"__", ".", "/", ":"} {
				names = append(names, s.Listing.Server+sep+tool.Name)
			}
		}
	}
	for _, hidden := range c.Tools() {
		for part, f := range map[string]*discovery.Catalog{
			"tool":   c.Filter(func(t *discovery.Tool) bool { return t != hidden }),
			"server": c.Narrow(func(s *discovery.Server) bool { return s.Listing.Server != hidden.Server }, func(*discovery.Tool) bool { return true }),
			"both":   c.Filter(func(t *discovery.Tool) bool { return t != hidden }).Narrow(func(s *discovery.Server) bool { return s.Listing.Server != "a/b" }, (*discovery.Tool).ReadOnly),
		} {
			for _, name := range names {
				all, _ := c.Tool(name)
				if got, ok := f.Tool(name); ok && got != all {
					t.Errorf("without %s of %s: %q means %s, and %s in all", part, hidden.ID, name, got.ID, all.ID)
				}
			}
		}
	}
	if got, ok := c.Tool("a.off.c"); ok {
		t.Errorf("a name of a server that is switched off leads to %s", got.ID)
	}
	if got, ok := c.Tool("a__off.c"); !ok || got.ID != "a__off.c" {
		t.Errorf("an id leads to %v", got)
	}
}
