package packages

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// npx runs a global installation itself. Programs beside the working folder are
// ignored.
func TestWhatNPXPrefers(t *testing.T) {
	spec, err := Parse("npx", []string{"-y", "@a/b"})
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	bin := filepath.Join(root, "bin")
	write(t, filepath.Join(root, "node_modules", "@a", "b", "package.json"), "{}")
	if got := preferred(spec, bin); got != "" {
		t.Errorf("without a global installation: %q", got)
	}
	global := filepath.Join(root, "lib", "node_modules", "@a", "b")
	write(t, filepath.Join(global, "package.json"), "{}")
	if got := preferred(spec, bin); got != global {
		t.Errorf("with a global installation: %q, want %q", got, global)
	}
}

func TestProgramOfAPackage(t *testing.T) {
	for _, c := range []struct{ pkg, program, bin, want string }{
		{"@a/b", "", `"./dist/x.js"`, "b /dist/x.js"},
		{"@a/b", "", `{"other": "x.js"}`, "other /x.js"},
		{"@a/b", "", `{"other": "x.js", "b": "x.js"}`, "b /x.js"},
		{"@a/b", "", `{"other": "x.js", "b": "y.js"}`, "b /y.js"},
		{"@a/b", "other", `{"other": "x.js", "b": "y.js"}`, "other /x.js"},
		{"b", "", `"../../../etc/passwd"`, "b /etc/passwd"}, // within the package
		{"b", "", `{"x": "1.js", "y": "2.js"}`, ""},
		{"b", "c", `{"b": "1.js"}`, ""},
		{"b", "", `{"../b": "1.js"}`, ""},
		{"b", "", `3`, ""},
		{"b", "", ``, ""},
	} {
		name, file, err := manifest{Bin: []byte(c.bin)}.program(Spec{Name: c.pkg, Program: c.program})
		if got := strings.TrimSpace(name + " " + file); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("program(%s %s, %s) = %q, %v, want %q", c.pkg, c.program, c.bin, got, err, c.want)
		}
	}
}

// A whole installation of npx runs at once, and the package is installed later; half
// of one is not touched.
func TestInstallationOfNPX(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	for _, c := range []struct {
		name, hash string
		files      []string
		runs       bool
	}{
		{"whole", "4737f54b573b4352", []string{".package-lock.json", "dep/index.js"}, true},
		{"half", "5543aa2e05c3ace5", []string{"dep/index.js"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.publishGreeter(t, c.name, "1.0.0")
			command := r.command(t, "-y", c.name)
			modules := filepath.Join(launch.NPMCache(t.Context(), command), "_npx", c.hash, "node_modules")
			for _, f := range append(c.files, c.name+"/index.js") {
				write(t, filepath.Join(modules, filepath.FromSlash(f)), "#!/usr/bin/env node\nconsole.log('npx')\n")
			}
			write(t, filepath.Join(modules, c.name, "package.json"), `{"version": "0.9.0", "bin": "index.js"}`)
			s := newStore(t, t.TempDir())
			s.delay = 0
			start := func() string {
				direct, err := s.Command(t.Context(), command)
				if err != nil {
					t.Fatal(err)
				}
				return prints(t, direct)
			}
			if got, want := start(), map[bool]string{true: "npx", false: "1.0.0"}[c.runs]; got != want {
				t.Errorf("it prints %q, want %q", got, want)
			}
			spec, _ := Parse(command.Program, command.Args)
			eventually.True(t, "it is installed", func() bool { return s.Version(spec) != "" })
			if err := os.RemoveAll(modules); err != nil {
				t.Fatal(err)
			}
			if got := start(); got != "1.0.0" {
				t.Errorf("then it prints %q, want 1.0.0", got)
			}
		})
	}
}

// The data of server-memory is not in its package, where a new version would not
// find it.
func TestMemoryIsKeptApart(t *testing.T) {
	t.Parallel()
	cache, dir := t.TempDir(), t.TempDir()
	dist := "node_modules/@modelcontextprotocol/server-memory/dist/"
	write(t, filepath.Join(cache, "_npx", "abc", filepath.FromSlash(dist), "memory.jsonl"), "{}\n")
	c := launch.Command{Program: "npx", Args: []string{"-y", memoryPackage}, Env: []string{"npm_config_cache=" + cache, "PATH=" + t.TempDir()}}
	spec, err := Parse(c.Program, c.Args)
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(t, dir)
	file := filepath.Join(dir, "memory.jsonl")
	for range 2 {
		got := s.withData(t.Context(), c, spec)
		if want := memoryVariable + "=" + file; got.Env[len(got.Env)-1] != want {
			t.Errorf("environment %q, want %s", got.Env, want)
		}
		if data, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(data), "{}\n") {
			t.Errorf("data %q, %v", data, err)
		}
		write(t, file, "{}\n{}\n") // as the server does: it is not copied again
	}
	c.Env = append(c.Env, memoryVariable+"=/mine")
	if got := s.withData(t.Context(), c, spec); len(got.Env) != len(c.Env) {
		t.Errorf("what the user has set is replaced: %q", got.Env)
	}
}

// A fakeUV is what uv does, without a network: it makes environments, "installs"
// a program that prints its version, and names the newest version.
const fakeUV = `#!/bin/sh
case "$1 $2" in
"venv "*) eval dir=\$$#; mkdir -p "$dir/bin" && cp "$0" "$dir/bin/python" ;;
"pip install")
	eval wanted=\$$#; version=${wanted#*==}; [ "$version" = "$wanted" ] && version=2.0.0
	bin=$(dirname "$5"); mkdir -p "$bin/../lib/python3.12/site-packages/My_Server-$version.dist-info"
	printf '#!/bin/sh\necho %s "$@"\n' "$version" > "$bin/my-server"; chmod +x "$bin/my-server" ;;
"pip compile") echo my-server==2.0.0 ;;
esac
`

func TestPackageOfUV(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the uv of this test is a shell script")
	}
	bin := t.TempDir()
	write(t, filepath.Join(bin, "uv"), fakeUV)
	write(t, filepath.Join(bin, "uvx"), "#!/bin/sh\nexit 1\n")
	s := newStore(t, t.TempDir())
	for _, c := range []struct {
		args []string
		want string
	}{{[]string{"my-server@1.5.0", "a"}, "1.5.0 a"}, {[]string{"my-server"}, "2.0.0"}, {[]string{"--from", "my-server==1.0", "my-server", "b"}, "1.0 b"}} {
		direct, err := s.Command(t.Context(), launch.Command{Program: "uvx", Args: c.args, Env: []string{"PATH=" + bin + ":/usr/bin:/bin"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := prints(t, direct); got != c.want {
			t.Errorf("uvx %q prints %q, want %q", c.args, got, c.want)
		}
	}
}
