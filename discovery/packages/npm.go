package packages

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// npm installs packages as npx does.
type npm struct {
	spec Spec
	c    launch.Command
	root string
	node string   // its path
	npm  []string // the command
}

// newNPM finds the node and npm that npx would use, and the global installation that
// npx would prefer to a package of the registry.
func newNPM(c launch.Command, spec Spec, root string) (*npm, error) {
	npx, err := launch.LookPath(spec.program, c.Dir, c.Env)
	if err != nil {
		return nil, notPlain("%v", err)
	}
	if why := preferred(spec, filepath.Dir(npx)); why != "" {
		return nil, notPlain("npx takes %s into account", why)
	}
	n := &npm{spec: spec, c: c, root: root}
	if n.node, err = beside(npx, "node", c.Env); err != nil {
		return nil, notPlain("%v", err)
	}
	if cli := filepath.Join(filepath.Dir(npx), "node_modules", "npm", "bin", "npm-cli.js"); runtime.GOOS == "windows" && exists(cli) {
		n.npm = []string{n.node, cli}
		return n, nil
	}
	cli, err := beside(npx, "npm", c.Env)
	if err != nil {
		return nil, notPlain("%v", err)
	}
	n.npm = []string{cli}
	return n, nil
}

// beside finds a program that npx runs: on Windows the one beside it, elsewhere
// node in PATH, and npm where npx is.
func beside(npx, name string, env []string) (string, error) {
	if runtime.GOOS == "windows" || name == "npm" {
		if path, err := launch.LookPath(filepath.Join(filepath.Dir(npx), name), "", env); err == nil {
			return path, nil
		}
	}
	return launch.LookPath(name, "", env)
}

// preferred returns the global installation that npx would run instead of a package of
// the registry, or "". It ignores programs in a project's folders, which anybody may
// have put there.
func preferred(spec Spec, bin string) string {
	for _, modules := range []string{filepath.Join(bin, "node_modules"), filepath.Join(filepath.Dir(bin), "lib", "node_modules")} {
		if global := filepath.Join(modules, filepath.FromSlash(spec.Name)); exists(global) {
			return global
		}
	}
	return ""
}

func (n *npm) install(ctx context.Context, dir, version string) error {
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{\"private\":true}\n"), 0o600); err != nil {
		return err
	}
	_, err := output(ctx, n.c, dir, append(n.npm, "install", "--prefix", dir, "--no-audit", "--no-fund", "--no-update-notifier",
		"--prefer-offline", "--loglevel=error", n.spec.asked(version)))
	return err
}

// A manifest is what counts in a package.json.
type manifest struct {
	Version string          `json:"version"`
	Bin     json.RawMessage `json:"bin"`
}

func (n *npm) folder(dir string) string {
	return filepath.Join(dir, "node_modules", filepath.FromSlash(n.spec.Name))
}

// maxManifest bounds a package.json.
const maxManifest = 4 << 20

func (n *npm) manifest(dir string) (m manifest, err error) {
	f, err := os.Open(filepath.Join(n.folder(dir), "package.json"))
	if err != nil {
		return m, err
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxManifest)).Decode(&m); err != nil {
		return m, fmt.Errorf("read package.json of %s: %w", n.spec.Name, err)
	}
	return m, nil
}

func (n *npm) installed(dir string) (string, error) {
	m, err := n.manifest(dir)
	if err == nil && !npmNumber.MatchString(m.Version) {
		err = fmt.Errorf("%q in package.json of %s is not a version", m.Version, n.spec.Name)
	}
	return m.Version, err
}

// program is the name and the path, in its package, of the program that npx would
// run.
func (m manifest) program(spec Spec) (name, file string, err error) {
	unscoped := path.Base(spec.Name)
	var one string
	programs := map[string]string{}
	if json.Unmarshal(m.Bin, &one) == nil {
		programs[unscoped] = one
	} else {
		_ = json.Unmarshal(m.Bin, &programs) // another form has no programs
	}
	files := make(map[string]bool)
	for _, f := range programs {
		files[f] = true
	}
	name = spec.Program
	if name == "" && len(files) == 1 {
		for n := range programs {
			if name == "" || n == unscoped {
				name = n
			}
		}
	}
	if name == "" {
		name = unscoped
	}
	if file = programs[name]; file == "" || name != path.Base(name) {
		return "", "", fmt.Errorf("%s has no program %q", spec.Name, name)
	}
	return name, path.Clean("/" + file), nil
}

// A nodeLine is how a script for Node begins; others need what only npx does.
var nodeLine = lazyregexp.New(`^#!(/usr/bin/env node|/usr(/local)?/bin/node|/usr/bin/env -S node)\s*$`)

func (n *npm) command(dir string) (launch.Command, error) {
	m, err := n.manifest(dir)
	if err != nil {
		return launch.Command{}, err
	}
	name, file, err := m.program(n.spec)
	if err != nil {
		return launch.Command{}, err
	}
	script := filepath.Join(n.folder(dir), filepath.FromSlash(file))
	if err := forNode(script); err != nil {
		return launch.Command{}, err
	}
	bin := filepath.Join(dir, "node_modules", ".bin")
	if link := filepath.Join(bin, name); runtime.GOOS != "windows" && exists(link) {
		script = link // some programs look at how they are called
	}
	c := n.c
	c.Program, c.Args = n.node, append([]string{script}, n.spec.Args...)
	c.Env = withPath(c.Env, bin)
	return c, nil
}

// forNode reports an error if script is not one that node runs.
func forNode(script string) error {
	f, err := os.Open(script)
	if err != nil {
		return err
	}
	defer f.Close()
	first, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n') // a short file is one line
	switch {
	case strings.HasPrefix(first, "#!") && nodeLine.MatchString(strings.TrimSpace(first)):
	case !strings.HasPrefix(first, "#!") && slices.Contains([]string{".js", ".mjs", ".cjs"}, filepath.Ext(script)):
	default:
		return fmt.Errorf("%s is not a script that only needs node", filepath.Base(script))
	}
	return nil
}

// withPath has programs found in dir first, as npx does.
func withPath(env []string, dir string) []string {
	env = slices.Clone(env)
	for i, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			env[i] = name + "=" + dir + string(filepath.ListSeparator) + value
			return env
		}
	}
	return append(env, "PATH="+dir)
}
