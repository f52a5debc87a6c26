package packages

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
)

// platform is the version of node, the system and the processor: installations
// may hold machine code. Settings of npm that change what is installed count too.
func (n *npm) platform(ctx context.Context) (string, error) {
	p, err := n.nodePlatform(ctx)
	if err != nil {
		return "", fmt.Errorf("ask node for its version: %w", err)
	}
	var set []string
	for _, kv := range n.c.Env {
		name, _, _ := strings.Cut(kv, "=")
		name = strings.ToLower(name)
		if rest, ok := strings.CutPrefix(name, "npm_config_"); ok &&
			(slices.Contains([]string{"registry", "userconfig", "ignore_scripts"}, rest) || strings.HasSuffix(rest, ":registry")) {
			set = append(set, kv)
		}
	}
	if len(set) > 0 {
		sum := sha256.Sum256([]byte(strings.Join(set, "\x00")))
		p += "-" + hex.EncodeToString(sum[:4])
	}
	return p, nil
}

const askNode = `process.versions.node.split(".")[0]+"-"+process.platform+"-"+process.arch`

var platformForm = regexp.MustCompile(`^\d+-[a-z0-9]+-[a-z0-9]+$`)

// nodePlatform asks node, unless the same file was asked before. What only chooses
// a node, as version managers have it, may choose another one each time.
func (n *npm) nodePlatform(ctx context.Context) (string, error) {
	key := ""
	if real, err := filepath.EvalSymlinks(n.node); err == nil && strings.TrimSuffix(filepath.Base(real), ".exe") == "node" {
		if info, err := os.Stat(real); err == nil && info.Size() > 1<<20 { // no script
			key = fmt.Sprintf("%s %d %d", real, info.Size(), info.ModTime().UnixNano())
		}
	}
	file := filepath.Join(n.root, ".node.json")
	var asked map[string]string
	if b, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(b, &asked) // what is not whole counts as none
	}
	if p := asked[key]; key != "" && platformForm.MatchString(p) {
		return p, nil
	}
	out, err := output(ctx, n.c, n.c.Dir, []string{n.node, "-p", askNode})
	out = strings.TrimSpace(out)
	if err == nil && !platformForm.MatchString(out) {
		err = errors.New("it does not say")
	}
	if err == nil && key != "" && os.MkdirAll(n.root, 0o700) == nil {
		if asked == nil || len(asked) > 20 {
			asked = make(map[string]string)
		}
		asked[key] = out
		if b, err := json.Marshal(asked); err == nil {
			_ = atomicfile.Write(file, b) // else it is asked again
		}
	}
	return out, err
}

var errNoCopy = errors.New("npx has no whole installation that can be copied")

// copyNPX copies the installation in npx's cache, if that is whole: it takes a
// tenth of the time of an installation, and no network. Machine code is made
// anew, since it may be for another node.
func (n *npm) copyNPX(ctx context.Context, dir string) error {
	sum := sha512.Sum512([]byte(n.spec.asked(n.spec.Version))) // as npm names the folder
	from := filepath.Join(launch.NPMCache(ctx, n.c), "_npx", hex.EncodeToString(sum[:])[:16])
	if !launch.WholeInstall(from) {
		return errNoCopy
	}
	modules := filepath.Join(from, "node_modules")
	err := filepath.WalkDir(modules, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".node" || ctx.Err() != nil {
			err = errNoCopy
		}
		return err
	})
	if err != nil {
		return err
	}
	to := filepath.Join(dir, "node_modules")
	err = os.CopyFS(to, os.DirFS(modules))
	if err == nil && runtime.GOOS != "windows" && !launch.WholeInstall(from) {
		err = errNoCopy // npx has begun to change it meanwhile
	}
	if err == nil {
		_, err = n.command(dir)
	}
	if err != nil {
		_ = os.RemoveAll(to) // npm begins with nothing
	}
	return err
}
