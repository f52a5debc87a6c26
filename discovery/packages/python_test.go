package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
)

// An installed module runs without files of the working folder, whatever their names. A
// module that is not installed is one of the folder.
func TestPlantedModulesDoNotRun(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	t.Parallel()
	installed, folder := t.TempDir(), t.TempDir()
	file := func(text string, path ...string) {
		t.Helper()
		name := filepath.Join(path...)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const program = "import sys, os, json\ntry: import optional_speedup\nexcept ImportError: pass\nprint(json.dumps([__name__, os.path.basename(sys.argv[0])] + sys.argv[1:]))\n"
	file("", installed, "served", "__init__.py")
	file(program, installed, "served", "__main__.py")
	file(program, installed, "served", "deep.py")
	file(program, installed, "alone.py")
	for _, name := range []string{"served", "alone", "json", "runpy", "importlib", "os", "re", "optional_speedup", "sitecustomize", "encodings"} {
		file("print('planted "+name+"')\n", folder, name+".py")
	}
	file("print('its own', __name__)\n", folder, "own", "__main__.py")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-m", "served", "a", "-m"}, `["__main__", "__main__.py", "a", "-m"]`},
		{[]string{"-m", "served.deep"}, `["__main__", "deep.py"]`},
		{[]string{"-u", "-X", "utf8", "-W", "ignore", "-m", "alone", "-c"}, `["__main__", "alone.py", "-c"]`},
		{[]string{"-uBm", "alone"}, `["__main__", "alone.py"]`},
		{[]string{"-malone", "x"}, `["__main__", "alone.py", "x"]`},
		{[]string{"-m", "own"}, "its own __main__"},
	} {
		got := InstalledModule(launch.Command{Program: python, Args: c.args, Dir: folder})
		cmd := exec.CommandContext(t.Context(), got.Program, got.Args...)
		cmd.Dir, cmd.Env = folder, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "PYTHONPATH=" + installed}
		out, err := cmd.CombinedOutput()
		if text := strings.TrimSpace(string(out)); err != nil || text != c.want {
			t.Errorf("python %q prints %q, %v, want %q", c.args, text, err, c.want)
		}
	}
}

func TestWhichModulesAreInstalled(t *testing.T) {
	for command, want := range map[string]string{
		"python -m a b":                    "python -c CODE a b",
		"/usr/bin/python3.12 -m a":         "/usr/bin/python3.12 -c CODE a",
		"python.exe -ma b":                 "python.exe -c CODE a b",
		"py -3.11 -m a":                    "py -3.11 -c CODE a",
		"pypy3 -um a":                      "pypy3 -u -c CODE a",
		"env A=1 nice python3 -m a":        "env A=1 nice python3 -c CODE a",
		"python -Xdev -Wall -m a":          "python -Xdev -Wall -c CODE a",
		"python -I -m a":                   "python -I -c CODE a",
		"python main.py -m a":              "python main.py -m a",
		"python -c x -m a":                 "python -c x -m a",
		"python --unknown -m a":            "python --unknown -m a",
		"python -m":                        "python -m",
		"python":                           "python",
		"pythonic -m a":                    "pythonic -m a",
		"env A=1 node python.js":           "env A=1 node python.js",
		"cmd /c python -m a":               "cmd /c python -m a",
		"node -m a":                        "node -m a",
		"docker run python python3 -m a":   "docker run python python3 -m a",
		"python -X m -W m -m a":            "python -X m -W m -c CODE a",
		"python --check-hash-based-pycs m": "python --check-hash-based-pycs m",
	} {
		words := strings.Fields(command)
		in := launch.Command{Program: words[0], Args: words[1:], Env: []string{"A=1"}}
		out := InstalledModule(in)
		got := slices.Concat([]string{out.Program}, out.Args)
		for i := range got {
			if got[i] == runModule {
				got[i] = "CODE"
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", command, text, want)
		}
		if !slices.Equal(in.Args, words[1:]) {
			t.Errorf("%s: the command was changed", command)
		}
	}
}
