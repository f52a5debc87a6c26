package clients

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a user did to the file after the install is all that differs from the
// file before it when the broker is gone again.
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
				if diff := cmp.Diff(want, read(t, path)); diff != "" {
					t.Errorf("%s in %s, move %t, installed again %t (-want +got):\n%s", tt.name, tt.client, move, again, diff)
				}
				if move != (len(res.Returned) == 2) || len(res.Removed) != 1 || res.Restored {
					t.Errorf("%s: %+v", tt.name, res)
				}
			}
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

func FuzzChanges(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\nd")
	f.Add("", "x")
	f.Add("x\n\n\ny", "\n\ny\nx")
	f.Add("one two\nthree\n", "one 2 two\nthree\nfour\n")
	f.Fuzz(func(t *testing.T, old, text string) {
		list, ok := changesBetween([]byte(old), []byte(text))
		if !ok {
			return
		}
		got, ok := applyChanges([]byte(old), list)
		if !ok || string(got) != text {
			t.Fatalf("changes %v make %q of %q, want %q", list, got, old, text)
		}
		back, ok := applyChanges(got, inverse([]byte(old), list))
		if !ok || string(back) != old {
			t.Fatalf("and back %q", back)
		}
		// Joined with nothing they are what they were; with themselves only if
		// there is nothing that both would have to replace.
		if joined, ok := join(list, nil); !ok || len(joined) != len(list) {
			t.Fatalf("join = %v, %t", joined, ok)
		}
	})
}

func TestChangesAreSmall(t *testing.T) {
	var old, text bytes.Buffer
	for i := range 50_000 {
		line := []byte{'a' + byte(i%26), byte('0' + i%10), '\n'}
		old.Write(line)
		if i == 30_000 {
			text.WriteString("new\n")
		}
		if i != 40_000 {
			text.Write(line)
		}
	}
	list, ok := changesBetween(old.Bytes(), text.Bytes())
	if !ok || len(list) != 2 || list[0].Text != "new\n" || list[0].Len != 0 || list[1].Len != 3 || list[1].Text != "" {
		t.Errorf("changes = %v, %t", list, ok)
	}
	if _, ok := changesBetween(old.Bytes(), bytes.Repeat([]byte("x\n"), 50_000)); ok {
		t.Error("texts with nothing in common are compared to the end")
	}
}
