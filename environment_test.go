package mcpbroker_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// setsVariable matches code that changes the environment of its own process.
var setsVariable = regexp.MustCompile(`\b(os|syscall|unix)\.(Setenv|Unsetenv|Clearenv)\(`)

// One process serves many clients: a variable of one client must not affect the others.
func TestNothingSetsTheVariablesOfTheProcess(t *testing.T) {
	free := map[string]bool{"sandbox/worker/tune.go": true} // the child of one script clears its own environment
	tree := os.DirFS(".")
	seen := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && path.Base(name)[0] == '.' {
			return fs.SkipDir
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || free[name] {
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		seen++
		for i, line := range strings.Split(string(src), "\n") {
			if found := setsVariable.FindString(line); found != "" {
				t.Errorf("%s:%d uses %s…): give the value to what needs it", name, i+1, found)
			}
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files were read: %v", seen, err)
	}
}
