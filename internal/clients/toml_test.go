package clients

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

var codexRoot = []string{"mcp_servers"}

func TestTOMLRemoveKeepsEverythingElse(t *testing.T) {
	tests := []struct{ name, in, server, want string }{
		{"first table", "[mcp_servers.a]\ncommand = \"x\"\n\n[mcp_servers.b]\ncommand = \"y\"\n", "a", "\n[mcp_servers.b]\ncommand = \"y\"\n"},
		{"last table", "x = 1\n\n[mcp_servers.a]\ncommand = \"x\" # c\n", "a", "x = 1\n"},
		{"with its tables", "[mcp_servers.a]\ncommand = \"x\"\n# inside\n[mcp_servers.a.env]\nK = \"v\"\n# after\n[t]\n", "a", "# after\n[t]\n"},
		{"in two places", "[mcp_servers.a]\ncommand = \"x\"\n[t]\ny = 1\n[mcp_servers.a.env]\nK = \"v\"\n", "a", "[t]\ny = 1\n"},
		{"quoted and dotted names", "[mcp_servers.\"a.b\"]\ncommand = \"x\"\n[mcp_servers.a]\nurl = \"https://b\"\n", "a.b", "[mcp_servers.a]\nurl = \"https://b\"\n"},
		{"key in the table of all", "[mcp_servers]\na = { command = \"x\" }\nb = { command = \"y\" } # b\n", "a", "[mcp_servers]\nb = { command = \"y\" } # b\n"},
		{"dotted keys", "mcp_servers.a.command = \"x\"\nmcp_servers.a.args = [\n  \"1\", # one\n]\nz = 1\n", "a", "z = 1\n"},
		{"values over several lines", "[mcp_servers.a]\ncommand = \"\"\"\n[mcp_servers.b]\n\"\"\"\n\n[mcp_servers.b]\ncommand = \"y\"\n", "a", "\n[mcp_servers.b]\ncommand = \"y\"\n"},
		{"no line end", "[t]\nx = 1\n[mcp_servers.a]\ncommand = \"x\"", "a", "[t]\nx = 1\n"},
		{"windows line ends", "x = 1\r\n\r\n[mcp_servers.a]\r\ncommand = \"x\"\r\n\r\n[t]\r\n", "a", "x = 1\r\n\r\n[t]\r\n"},
		{"not there", "[mcp_servers.ab]\ncommand = \"x\"\n", "a", "[mcp_servers.ab]\ncommand = \"x\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tomlFile{}.remove([]byte(tt.in), codexRoot, tt.server)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("remove mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTOMLRemoveRefusesInlineTables(t *testing.T) {
	_, err := tomlFile{}.remove([]byte("mcp_servers = { a = { command = \"x\" } }\n"), codexRoot, "a")
	if err == nil || !strings.Contains(err.Error(), "[mcp_servers.a]") {
		t.Errorf("remove = %v, want an error that names the table to write", err)
	}
}

func TestTOMLErrorsShowNothingOfTheFile(t *testing.T) {
	_, err := tomlFile{}.servers([]byte("[mcp_servers.a]\ntoken = swordfish\n"), codexRoot)
	if err == nil || !strings.Contains(err.Error(), "line 2") || strings.Contains(err.Error(), "swordfish") {
		t.Errorf("servers = %v", err)
	}
}

// What is set can be read and removed again, and every other value of the file
// stays.
func FuzzTOML(f *testing.F) {
	for _, s := range []string{"", "x = 1", "[mcp_servers]\na = {}\n", "[mcp_servers.a]\n[[t]]\n[[t]]\nx = [1,\n# c\n2]\n", "# c\r\n[mcp_servers.'q']\r\n"} {
		f.Add(s, "a")
		f.Add(s, "new \"name\".x\x7f")
	}
	f.Fuzz(func(t *testing.T, in, name string) {
		if strings.ToValidUTF8(name, "") != name {
			return
		}
		before, err := tomlValues([]byte(in))
		if err != nil {
			return
		}
		entry := config.Object{{Key: "command", Value: in}, {Key: "args", Value: []string{name}}, {Key: "n", Value: 3}}
		set, err := tomlFile{}.set([]byte(in), codexRoot, name, entry)
		if err != nil {
			return
		}
		fields, err := tomlFile{}.servers(set, codexRoot)
		i := slices.IndexFunc(fields, func(f config.Field) bool { return f.Key == name })
		if err != nil || i < 0 || strings.ToValidUTF8(in, "") == in && fields[i].Value.(config.Object).Get("command") != in {
			t.Fatalf("set(%q, %q) = %q, which has %v, %v", in, name, set, fields, err)
		}
		out, err := tomlFile{}.remove(set, codexRoot, name)
		if err != nil {
			t.Fatalf("remove(%q, %q): %v", set, name, err)
		}
		after, err := tomlValues(out)
		if err != nil {
			t.Fatalf("remove(%q, %q) = %q: %v", set, name, out, err)
		}
		for _, values := range []map[string]any{before, after} {
			if servers, ok := values["mcp_servers"].(map[string]any); ok {
				delete(servers, name)
				if len(servers) == 0 {
					delete(values, "mcp_servers")
				}
			}
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))); diff != "" {
			t.Fatalf("set and remove of %q in %q changed (-before +after):\n%s", name, in, diff)
		}
		if diff := cmp.Diff(ordered(before), ordered(after)); diff != "" {
			t.Fatalf("set and remove of %q in %q changed (-before +after):\n%s", name, in, diff)
		}
	})
}
