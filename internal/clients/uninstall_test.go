package clients

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a user did to the file after the install is all that differs from the
// file before it when the broker is gone again; servers that were moved return
// behind those that are there.
func TestUninstallKeepsTheUsersBytes(t *testing.T) {
	inFront := func(text string) func(string) string {
		return func(file string) string { return text + file }
	}
	instead := func(old, text string) func(string) string {
		return func(file string) string { return strings.Replace(file, old, text, 1) }
	}
	lastServer := func(text string) func(string) string { // of vscode's sample
		return instead("\t\t},\n\t},\n}", "\t\t},\n"+text+"\t},\n}")
	}
	tests := []struct {
		name, client string
		edit         func(string) string
	}{
		{"a comment at the top", "vscode", inFront("// mine\n")},
		{"a comment at the end", "zed", func(file string) string { return file + "\n// mine\n" }},
		{"another value", "vscode", instead(`"tok", "password": true`, `"token"`)},
		{"a server behind the others", "vscode", lastServer("\t\t// mine\n\t\t\"mine\": { \"command\": \"x\", }, // so there\n")},
		{"a server before the others", "vscode", instead("\"servers\": {\n", "\"servers\": {\n\t\t\"mine\": { \"command\": \"x\" }, // first\n")},
		{"two edits", "vscode", func(file string) string {
			return inFront("/* a */ ")(lastServer("\t\t\"mine\": {},\n")(file))
		}},
		{"without comments", "claude-code", instead(`"projects": {"/x"`, `"numStartups": 3, "projects": {"/y": {}, "/x"`)},
		{"a last server without a comma behind", "gemini", instead("    }\r\n  }\r\n}", "    },\r\n    \"mine\": { \"command\": \"x\" }\r\n  }\r\n}")},
		{"a section at the end", "codex", func(file string) string { return file + "\n# mine\n[mcp_servers.mine]\ncommand = \"x\" # so there\n" }},
		{"a setting at the top", "codex", inFront("approval = \"never\" # mine\n")},
	}
	for _, tt := range tests {
		for _, move := range []bool{false, true} {
			for _, again := range []bool{false, true} {
				r, path := testRequest(t, tt.client)
				writeFile(t, path, samples[tt.client])
				want := tt.edit(samples[tt.client])
				if want == samples[tt.client] {
					t.Fatalf("%s: the edit finds nothing in the sample", tt.name)
				}
				r.Move = move
				mustInstall(t, r)
				installed := read(t, path)
				edited := tt.edit(installed)
				if edited == installed {
					t.Fatalf("%s, move %t: the edit finds nothing in\n%s", tt.name, move, installed)
				}
				writeFile(t, path, edited)
				if again {
					r.Launch.Command, r.Move = "/new/broker", false
					mustInstall(t, r)
				}
				res := mustUninstall(t, r)
				if got := read(t, path); move {
					sameServers(t, r.Client, want, got)
				} else if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s in %s, installed again %t (-want +got):\n%s", tt.name, tt.client, again, diff)
				}
				if move != (len(res.Returned) == 2) || len(res.Removed) != 1 || res.Restored {
					t.Errorf("%s: %+v", tt.name, res)
				}
			}
		}
	}
}

// sameServers compares the servers of two files, and their comments.
func sameServers(t *testing.T, c *Client, want, got string) {
	t.Helper()
	values := func(file string) map[string]any {
		fields, err := c.format.servers([]byte(file), c.root)
		if err != nil {
			t.Fatalf("%v in\n%s", err, file)
		}
		m := map[string]any{}
		for _, f := range fields {
			m[f.Key] = plain(f.Value)
		}
		return m
	}
	if diff := cmp.Diff(values(want), values(got)); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	for _, comment := range []string{"mine", "so there", "remote"} {
		if n := strings.Count(want, comment); strings.Count(got, comment) != n {
			t.Errorf("%q is not there %d times:\n%s", comment, n, got)
		}
	}
}

// A user who has edited the broker's entry gets the servers back all the same.
func TestUninstallOfAnEditedEntry(t *testing.T) {
	r, path := testRequest(t, "vscode")
	writeFile(t, path, samples["vscode"])
	r.Move = true
	mustInstall(t, r)
	writeFile(t, path, strings.Replace(read(t, path), `"stdio",`, `"stdio", "env": { "X": "1" },`, 1))
	res := mustUninstall(t, r)
	if got := names(t, r.Client, path); len(got) != 2 || len(res.Returned) != 2 {
		t.Errorf("servers %v, %+v", got, res)
	}
}

// A server that the user has written again is the user's, not the one that was moved.
func TestUninstallKeepsAServerThatCameBackByItself(t *testing.T) {
	r, path := testRequest(t, "vscode")
	writeFile(t, path, samples["vscode"])
	r.Move = true
	mustInstall(t, r)
	writeFile(t, path, strings.Replace(read(t, path), "\"servers\": {\n", "\"servers\": {\n\t\t\"fs\": { \"command\": \"mine\" },\n", 1))
	mustUninstall(t, r)
	got := read(t, path)
	if strings.Count(got, `"fs":`) != 1 || !strings.Contains(got, `"fs": { "command": "mine" }`) || !strings.Contains(got, `"gh"`) {
		t.Errorf("the file is\n%s", got)
	}
}
