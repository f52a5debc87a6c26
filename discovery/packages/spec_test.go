package packages

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		command string
		want    string // runner name version program args; "" means not plain
	}{
		{"npx -y @scope/pkg", "npx @scope/pkg - - []"},
		{"/usr/bin/npx pkg@1.2.3 --port 3", "npx pkg 1.2.3 - [--port 3]"},
		{"npx --yes -- pkg@latest -y", "npx pkg latest - [-y]"},
		{"npx -y --package=@a/b@^1 prog x", "npx @a/b ^1 prog [x]"},
		{"npx -p a prog", "npx a - prog []"},
		{`cmd /c npx -y pkg C:\notes`, `npx pkg - - [C:\notes]`},
		{"npx.cmd -y pkg", "npx pkg - - []"},
		{"uvx mcp-server-git@0.6.2 --repository .", "uvx mcp-server-git 0.6.2 - [--repository .]"},
		{"uvx --from a[cli]==1.0 prog", "uvx a[cli] 1.0 prog []"},
		{"uvx a@latest", "uvx a - - []"},

		{"npm exec -y pkg@1.2.3", "npx pkg 1.2.3 - []"},
		{"npm x -y -- pkg --port 3 --", "npx pkg - - [--port 3 --]"},
		{"npm exec pkg a -- --port 3", "npx pkg - - [a --port 3]"},
		{"npm.cmd exec --package=@a/b -- prog -x", "npx @a/b - prog [-x]"},
		{"uv tool run --from a[cli]==1.0 prog -x", "uvx a[cli] 1.0 prog [-x]"},

		{"npm exec pkg --port 3", ""}, // an option of npm
		{"npm exec -p pkg -- prog", ""},
		{"npm run pkg", ""},
		{"npm exec", ""},
		{"uv tool install a", ""},
		{"uv run a", ""},
		{"uv tool run", ""},
		{"node server.js", ""},
		{"npx", ""},
		{"npx -y", ""},
		{"npx -c pkg", ""},
		{"npx --no pkg", ""},
		{"npx -p a -p b prog", ""},
		{"npx -y ./pkg", ""},
		{"npx -y ../../x", ""},
		{"npx -y user/repo", ""},
		{"npx -y github:user/repo", ""},
		{"npx -y https://example.com/a.tgz", ""},
		{"npx -y a.tgz", ""},
		{"npx -y a@file:../b", ""},
		{"npx -y a@npm:b@1", ""},
		{"npx -y a@>=1", ""},
		{"npx -y a@", ""},
		{"npx -y @a/../b", ""},
		{"npx -p a ../b", ""},
		{"npx -y ${PACKAGE}", ""},
		{"npx -y " + strings.Repeat("a", 200), ""},
		{"cmd /c npx -y a %PATH%", ""},
		{"sh -c npx", ""},
		{"uvx --python 3.12 a", ""},
		{"uvx --with b a", ""},
		{"uvx --from git+https://example.com/a a", ""},
		{"uvx a>=1", ""},
		{"uvx --from .. a", ""},
	} {
		words := strings.Fields(c.command)
		s, err := Parse(words[0], words[1:])
		got := ""
		if err == nil {
			dash := func(s string) string {
				if s == "" {
					return "-"
				}
				return s
			}
			got = strings.Join([]string{s.Runner, s.Name, dash(s.Version), dash(s.Program), "[" + strings.Join(s.Args, " ") + "]"}, " ")
		} else if !errors.Is(err, ErrNotPlain) {
			t.Errorf("Parse(%.80s): %v is not ErrNotPlain", c.command, err)
		}
		if got != c.want {
			t.Errorf("Parse(%.80s) = %s, %v, want %s", c.command, got, err, c.want)
		}
	}
}

func TestPin(t *testing.T) {
	for command, want := range map[string]string{
		"npx -y pkg a":                "npx -y pkg@1.2.3 a",
		"npx -y @a/b@latest a":        "npx -y @a/b@1.2.3 a",
		"npx --package=a@^1 prog":     "npx --package=a@1.2.3 prog",
		"npx -p a prog a":             "npx -p a@1.2.3 prog a",
		"cmd /c npx -y pkg":           "cmd /c npx -y pkg@1.2.3",
		"npm exec -y pkg -- a":        "npm exec -y pkg@1.2.3 -- a",
		"uvx a@latest -x":             "uvx a@1.2.3 -x",
		"uvx --from a[cli] prog":      "uvx --from a[cli]==1.2.3 prog",
		"uvx --from=a[cli]==1.0 prog": "uvx --from=a[cli]==1.2.3 prog",
	} {
		words := strings.Fields(command)
		s, err := Parse(words[0], words[1:])
		if err != nil {
			t.Fatal(err)
		}
		args := slices.Clone(words[1:])
		if got := words[0] + " " + strings.Join(s.Pin(args, "1.2.3"), " "); got != want || !slices.Equal(args, words[1:]) {
			t.Errorf("pinned %s = %s, want %s", command, got, want)
		}
	}
}
