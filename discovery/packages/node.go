package packages

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
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

var platformForm = lazyregexp.New(`^\d+-[a-z0-9]+-[a-z0-9]+$`)

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

// elsewhere is npx's folder for the package, if that is whole.
func (n *npm) elsewhere(ctx context.Context) string {
	sum := sha512.Sum512([]byte(n.spec.asked(n.spec.Version))) // as npm names the folder
	dir := filepath.Join(launch.NPMCache(ctx, n.c), "_npx", hex.EncodeToString(sum[:])[:16])
	if !launch.WholeInstall(dir) {
		return ""
	}
	return dir
}
