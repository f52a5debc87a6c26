package packages

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
)

// A started is the description that the program of publishStarted prints of itself.
type started struct {
	Version, Folder, Path, Shell string
	Args, Names                  []string
}

// publishStarted adds a package whose program prints a started, and whose installation
// script works only in its own folder.
func (r *registry) publishStarted(t *testing.T, name string) {
	t.Helper()
	r.publish(t, name, "1.0.0", `, "bin": {"started": "run.js"}, "scripts": {"postinstall": "node built.js"}`, map[string]string{
		"built.js": `require("fs").copyFileSync("run.js", "built.txt")`,
		"run.js": "#!/usr/bin/env node\n" + `const e = process.env
console.log(JSON.stringify({Version: "1.0.0", Folder: process.cwd(), Path: e.PATH, Shell: e.npm_config_script_shell || "",
	Args: process.argv.slice(2), Names: Object.keys(e).filter(n => n.startsWith("MCPBROKER"))}))`,
	})
}

// plant creates a folder with everything that package runners prefer to the package of
// the registry; each planted program prints that it runs.
func plant(t *testing.T, pkg string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const script = "#!/bin/sh\necho PLANTED\n"
	for _, name := range []string{"started", "node", "sh", "npm", "env"} {
		write(t, filepath.Join(dir, "node_modules", ".bin", name), script)
	}
	for _, root := range []string{filepath.Join(dir, "node_modules", pkg), dir} {
		write(t, filepath.Join(root, "package.json"), `{"name": "`+pkg+`", "version": "1.0.0", "bin": {"started": "x.js"}, "packageManager": "yarn@1.0.0"}`)
		write(t, filepath.Join(root, "x.js"), "#!/usr/bin/env node\nconsole.log('PLANTED')\n")
	}
	write(t, filepath.Join(dir, "shell"), script)
	write(t, filepath.Join(dir, ".npmrc"), "registry=http://127.0.0.1:1\nscript-shell="+filepath.Join(dir, "shell")+"\ncache="+filepath.Join(dir, "cache")+"\n")
	write(t, filepath.Join(dir, "bunfig.toml"), "[install]\nregistry = \"http://127.0.0.1:1\"\n")
	write(t, filepath.Join(dir, "sub", "x"), "")
	return dir
}

// saidBy returns the output of a command that runs in its folder.
func saidBy(t *testing.T, c launch.Command) (s started) {
	t.Helper()
	if path, err := launch.LookPath(c.Program, c.Dir, c.Env); err == nil {
		c.Program = path
	}
	out := prints(t, c)
	out = out[max(0, strings.LastIndexByte(out, '\n')+1):] // pnpm reports its progress
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("it printed %q: %v", out, err)
	}
	return s
}

// A package comes from the registry whatever is in the working folder of its server,
// and its program starts there.
func TestPlantedProgramsDoNotRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its programs need a shell")
	}
	t.Parallel()
	const pkg = "@a/started"
	r := newRegistry(t)
	r.publishStarted(t, pkg)
	r.publishStarted(t, "second")
	written := NewRunnerFolder(filepath.Join(t.TempDir(), "runner"))
	t.Cleanup(written.Close)
	with := r.command(t)
	for _, c := range []struct {
		command []string
		sub     bool // in a subfolder
		direct  bool // without a package runner
	}{
		{command: []string{"npx", "-y", pkg, "a", "b c"}, direct: true},
		{command: []string{"npm", "exec", "-y", "--", pkg, "a", "b c"}, direct: true},
		{command: []string{"npx", "-y", "--loglevel=error", "-p", pkg, "-p", "second", "started", "a", "b c"}},
		{command: []string{"sh", "-c", "cd sub && X=1 exec npx -y " + pkg + " a 'b c'"}, sub: true},
		{command: []string{"nice", "-n", "1", "sh", "-ec", "X=1; npm x -y --silent --package=" + pkg + " -c \"started a 'b c'\""}},
		{command: []string{"pnpm", "dlx", pkg, "a", "b c"}},
		{command: []string{"pnpm", "--package=" + pkg, "dlx", "started", "a", "b c"}},
		{command: []string{"pnpx", pkg, "a", "b c"}},
		{command: []string{"env", "bunx", pkg, "a", "b c"}},
		{command: []string{"bun", "x", "-p", pkg, "started", "a", "b c"}},
	} {
		t.Run(strings.Join(c.command, " "), func(t *testing.T) {
			for _, name := range c.command[:2] {
				if _, err := exec.LookPath(name); err != nil && runners[name] != nil {
					t.Skip("needs ", name)
				}
			}
			command := launch.Command{Program: c.command[0], Args: c.command[1:], Dir: plant(t, pkg), Env: with.Env}
			want := command.Dir
			if c.sub {
				want = filepath.Join(want, "sub")
			}
			check := func(how string, s started) {
				t.Helper()
				if s.Version != "1.0.0" || s.Folder != want || !slices.Equal(s.Args, []string{"a", "b c"}) {
					t.Errorf("%s: version %q, in %s, want %s, with %q", how, s.Version, s.Folder, want, s.Args)
				}
				if strings.Contains(s.Path, command.Dir) || len(s.Names) > 0 || s.Shell != "" {
					t.Errorf("%s: PATH %s, shell %q, variables %q", how, s.Path, s.Shell, s.Names)
				}
			}
			if direct, err := newStore(t, t.TempDir()).Command(t.Context(), command); (err == nil) != c.direct {
				t.Fatalf("from the store: %v, want plain %v", err, c.direct)
			} else if c.direct {
				check("from the store", saidBy(t, direct))
			}
			confined, away, err := written.Confine(command)
			if err != nil || away {
				t.Fatalf("Confine: away %v, %v", away, err)
			}
			check("as written", saidBy(t, confined))
		})
	}
}

// The runner's folder may be inside a project, and npm may be configured with a shell.
func TestRunnerFolderInAProject(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its programs need a shell")
	}
	t.Parallel()
	r := newRegistry(t)
	r.publishStarted(t, "a")
	c := r.command(t, "-y", "a")
	c.Dir = plant(t, "a")
	shell := filepath.Join(t.TempDir(), "shell")
	write(t, shell, "#!/bin/sh\nexport npm_config_script_shell=mine\nexec /bin/sh \"$@\"\n")
	c.Env = append(c.Env, "NPM_CONFIG_SCRIPT_SHELL="+shell)
	f := NewRunnerFolder(filepath.Join(c.Dir, "state", "runner"))
	confined, _, err := f.Confine(c)
	if err != nil {
		t.Fatal(err)
	}
	if s := saidBy(t, confined); s.Folder != c.Dir || strings.Contains(s.Path, c.Dir) || s.Shell != "mine" {
		t.Errorf("it said %+v", s)
	}
}

// Runners that cannot pass the working folder to their program start in our folder too;
// other commands, and runners that are asked for code of the folder, are unchanged.
func TestWhatIsConfined(t *testing.T) {
	f := NewRunnerFolder("")
	for _, c := range []struct {
		command string
		folder  string // of the server, or ""
		want    string // "here" if unchanged, "told" or "away"
	}{
		{"npx -y a", "", "told"},
		{"npx -y a", "/p", "told"},
		{"npm exec a", "/p", "told"},
		{"npx --no-install a", "", "told"},
		{"npx --no-install a", "/p", "here"},
		{"npx -y ./a", "/p", "here"},
		{"npx -y -p ../a b", "/p", "here"},
		{"npm run a", "/p", "here"},
		{"npm --silent x a", "/p", "told"},
		{"pnpm dlx a", "", "told"},
		{"pnpm run a", "/p", "here"},
		{"pnpm dlx -c a", "/p", "away"},
		{"pnpx a@1.2.3 x", "/p", "told"},
		{"bunx a", "", "away"},
		{"bunx --bun @a/b x", "/p", "told"},
		{"bunx --unknown @a/b x", "/p", "away"},
		{"bun x a", "/p", "told"},
		{"bun run a", "/p", "here"},
		{"yarn dlx a", "/p", "away"},
		{"yarn start", "/p", "here"},
		{"pipx run a", "/p", "away"},
		{"pipx run --spec ./a a", "/p", "here"},
		{"deno run -A npm:a", "/p", "away"},
		{"deno run -A jsr:@a/b", "", "away"},
		{"deno run main.ts", "/p", "here"},
		{"uvx a", "/p", "here"}, // reads no settings of a folder
		{"uv tool run a", "/p", "here"},
		{"uv run --with a b", "", "told"},
		{"uv run --python 3.12 --with a --with b c x", "", "told"},
		{"uv run --with a main.py", "", "here"},
		{"uv run --with a b", "/p", "here"}, // of a project
		{"uv run --project /x --with a b", "", "here"},
		{"uv run b", "/p", "here"},
		{"env -u X yarn dlx a", "/p", "away"},
		{"corepack pnpm dlx a", "/p", "told"},
		{"mise exec -- bunx a", "/p", "told"},
		{"node npx.js", "/p", "here"},
		{"docker run npx", "/p", "here"},
	} {
		words := strings.Fields(c.command)
		in := launch.Command{Program: words[0], Args: words[1:], Dir: c.folder, Env: []string{"A=1"}}
		out, away, err := f.Confine(in)
		if err != nil {
			t.Fatal(err)
		}
		got := "here"
		if out.Dir != in.Dir {
			got = map[bool]string{true: "away", false: "told"}[away]
		}
		if runtime.GOOS == "windows" && c.want == "told" {
			c.want = "away"
		}
		if got != c.want {
			t.Errorf("%s in %q: %s, want %s: %q", c.command, c.folder, got, c.want, out.Args)
		}
		if !slices.Equal(in.Args, words[1:]) || len(in.Env) != 1 {
			t.Errorf("%s: the command was changed: %q", c.command, in)
		}
	}
	dir := f.dir
	f.Close()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the temporary folder is left: %v", err)
	}
}

// The script of a shell is changed only where a command begins.
func TestRunnersInTextsOfShells(t *testing.T) {
	f := NewRunnerFolder("/r")
	f.made = true
	const in = `export MCPBROKER_FOLDER="$PWD" && cd '/r' && `
	for text, want := range map[string]string{
		`npx -y a`:                           in + `npx -y a`,
		`. ~/.nvm/nvm.sh; exec npx -y a "b"`: `. ~/.nvm/nvm.sh; ` + in + `exec npx -y a "b"`,
		`cd x && A=1 B="2" npx a`:            `cd x && ` + in + `A=1 B="2" npx a`,
		`if true; then npx a; fi`:            `if true; then ` + in + `npx a; fi`,
		"x\nbunx a":                          "x\n" + in + "bunx a",
		`/usr/bin/npm exec -- a`:             in + `/usr/bin/npm exec -- a`,
		`pnpm  dlx a`:                        in + `pnpm  dlx a`,
		`npx ./a`:                            `npx ./a`,
		`npx -y ../a`:                        `npx -y ../a`,
		`npm run a`:                          `npm run a`,
		`echo npx a`:                         `echo npx a`,
		`echo "; npx2 a"`:                    `echo "; npx2 a"`,
		`node x.js npx`:                      `node x.js npx`,
	} {
		c, _, err := f.Confine(launch.Command{Program: "/bin/bash", Args: []string{"-lc", text}, Dir: "/p"})
		if err != nil {
			t.Fatal(err)
		}
		if c.Args[1] != want || c.Dir != "/p" {
			t.Errorf("%s\n got %s in %s\nwant %s", text, c.Args[1], c.Dir, want)
		}
	}
}
