package launch

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

const (
	// A living npm touches its lock every second.
	lockAge = 10 * time.Second
	// Versions before 11.6 have none: they live while they write.
	writeAge = time.Minute
)

// A HalfInstall is a package in npx's cache with an interrupted or running
// installation. npx treats such a folder as complete, and the server never starts.
type HalfInstall struct {
	Dir     string // the folder in _npx
	Package string // what is installed, if that is known
	// Installing is set when somebody seems to be at it.
	Installing bool
}

// HalfInstalls returns those in a cache of npm. npm writes the lockfile in
// node_modules last, so that a folder without it is not whole.
func HalfInstalls(cache string) []HalfInstall {
	dirs, _ := filepath.Glob(filepath.Join(globQuote(cache), "_npx", "*")) // no error: the pattern is right
	var half []HalfInstall
	for _, dir := range dirs {
		if isHalf(dir) {
			half = append(half, HalfInstall{Dir: dir, Package: packageOf(dir), Installing: beingInstalled(dir, time.Now())})
		}
	}
	return half
}

// SetAside renames what there is of the package, so that npx installs it anew,
// and returns where it is now. Nothing is deleted: servers keep data there.
func (h HalfInstall) SetAside() (string, error) {
	modules := filepath.Join(h.Dir, "node_modules")
	aside := modules + ".broken-" + time.Now().UTC().Format("20060102T150405")
	if err := os.Rename(modules, aside); err != nil {
		return "", err
	}
	_ = os.Remove(filepath.Join(h.Dir, "concurrency.lock")) // the next npx would wait a minute for it
	return aside, nil
}

func isHalf(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "node_modules"))
	if err != nil || !info.IsDir() {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	return os.IsNotExist(err)
}

// WholeInstall reports whether a folder of npx's cache contains a complete installation
// that is not being changed.
func WholeInstall(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json")); err != nil {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, "concurrency.lock"))
	return os.IsNotExist(err)
}

func beingInstalled(dir string, now time.Time) bool {
	if info, err := os.Stat(filepath.Join(dir, "concurrency.lock")); err == nil {
		return now.Sub(info.ModTime()) < lockAge
	}
	newest := time.Time{}
	for _, pattern := range []string{"node_modules", "node_modules/*", "node_modules/@*/*"} {
		paths, _ := filepath.Glob(filepath.Join(globQuote(dir), filepath.FromSlash(pattern)))
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.ModTime().After(newest) {
				newest = info.ModTime()
			}
		}
	}
	return now.Sub(newest) < writeAge
}

func packageOf(dir string) string {
	var p struct {
		Npx struct{ Packages []string } `json:"_npx"`
	}
	b, _ := os.ReadFile(filepath.Join(dir, "package.json")) // npm writes it late
	_ = json.Unmarshal(b, &p)
	return gate.Clean(strings.Join(p.Npx.Packages, " "))
}

// globQuote makes path match itself only.
func globQuote(path string) string {
	if runtime.GOOS == "windows" {
		return path // quoting is not supported there
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// NPMCache returns the cache folder of the npm that c finds. npm is run in the home
// directory, so settings in the working folder of c have no effect.
func NPMCache(ctx context.Context, c Command) string {
	env := make(map[string]string)
	for _, kv := range c.Env {
		name, value, _ := strings.Cut(kv, "=")
		env[strings.ToLower(name)] = value
	}
	if dir := env["npm_config_cache"]; filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	if npm, err := LookPath("npm", "", c.Env); err == nil {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, npm, "config", "get", "cache")
		cmd.Env, cmd.Dir, cmd.WaitDelay = c.Env, env["home"], time.Second
		if runtime.GOOS == "windows" {
			cmd.Dir = env["userprofile"]
		}
		if out, err := cmd.Output(); err == nil && filepath.IsAbs(strings.TrimSpace(string(out))) {
			return filepath.Clean(strings.TrimSpace(string(out)))
		}
	}
	if runtime.GOOS == "windows" {
		return filepath.Join(env["localappdata"], "npm-cache")
	}
	return filepath.Join(env["home"], ".npm")
}
