// Release builds every package of the broker from a clone, without network once
// the modules are downloaded:
//
//	go -C tools/release run . [--out DIR] [--only linux/amd64,...] [--version V]
//
// The same commit and the same Go give the same bytes. docs/release.md lists the
// packages.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	homepage    = "https://github.com/mcpbroker/mcpbroker"
	serverName  = "io.github.mcpbroker/broker" // in the MCP registry
	npmName     = "@mcpbroker/broker"
	imageName   = "mcpbroker/broker"
	licenseName = "Apache-2.0"
	summary     = "One MCP server in front of all: agents find tools and call them from scripts." // at most 100 characters, and 80 without the full stop
)

func main() {
	out := flag.String("out", "dist", "`directory` of the packages, relative to the root of the repository; it must be empty or not exist")
	only := flag.String("only", "", "build for these `systems` only, such as linux/amd64,darwin/arm64")
	version := flag.String("version", "", "semantic `version`; default: the tag of the commit, or 0.0.0 with its date and id")
	flag.Parse()
	if err := run(*out, *only, *version); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

func run(out, only, version string) error {
	targets, err := parseTargets(only)
	if err != nil {
		return err
	}
	r, err := newRelease(out, version)
	if err != nil {
		return err
	}
	return r.make(targets)
}

// make writes everything that is released for some systems.
func (r *release) make(targets []target) error {
	fmt.Printf("broker %s, in %s\n", r.version, r.out)
	if err := r.complete(); err != nil {
		return err
	}
	for _, t := range targets {
		if err := r.packages(t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := r.npmWrapper(); err != nil {
		return err
	}
	if err := r.plugin(); err != nil {
		return err
	}
	if err := r.serverJSON(); err != nil {
		return err
	}
	if err := r.formula(); err != nil {
		return err
	}
	if err := r.provenance(targets); err != nil {
		return err
	}
	return r.checksums()
}

// packages builds all that one system gets.
func (r *release) packages(t target) error {
	programs, err := r.build(t)
	if err != nil {
		return err
	}
	if err := r.sbom(t, programs); err != nil {
		return err
	}
	if r.licenses, err = r.notices(t); err != nil {
		return err
	}
	err = r.pack(t, programs)
	r.licenses = nil // those of the next system may be others
	return err
}

func (r *release) pack(t target, programs []file) error {
	makers := []func(target, []file) error{r.archive, r.npmPlatform, r.mcpb}
	if t.os == "linux" {
		makers = append(makers, r.linux, r.image)
	}
	errs := make([]error, len(makers))
	var all sync.WaitGroup // compressing takes the time
	for i, make := range makers {
		all.Go(func() { errs[i] = make(t, programs) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// A target is a system that the broker is built for, in Go's words.
type target struct{ os, arch string }

var allTargets = []target{
	{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

func (t target) String() string { return t.os + "/" + t.arch }

// exe is the file name of a program.
func (t target) exe(name string) string {
	if t.os == "windows" {
		return name + ".exe"
	}
	return name
}

func parseTargets(only string) ([]target, error) {
	if only == "" {
		return allTargets, nil
	}
	var chosen []target
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(allTargets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown system %q in --only: it is one of %v", name, allTargets)
		}
		chosen = append(chosen, allTargets[i])
	}
	return chosen, nil
}

// A release is what all packages have in common.
type release struct {
	root, out   string
	version     string // semantic, without v
	time        time.Time
	commit      string
	changed     bool              // files differ from the commit
	licenses    []byte            // of the modules that programs contain, while they are packed
	completions map[string][]byte // by shell
	manual      []file            // pages of section 1
	built       map[target][]file // the programs
	mu          sync.Mutex
	sums        map[string]string // SHA-256 of each file in out, guarded by mu
}

var semver = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func newRelease(out, version string) (*release, error) {
	root, err := output(".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("packages are built from a git clone: %w", err)
	}
	head, err := output(root, "git", "log", "-1", "--format=%ct %H")
	if err != nil {
		return nil, err
	}
	seconds, commit, _ := strings.Cut(head, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	r := &release{root: root, out: out, version: version, commit: commit, time: time.Unix(unix, 0).UTC(), built: map[target][]file{}, sums: map[string]string{}}
	if !filepath.IsAbs(r.out) {
		r.out = filepath.Join(root, r.out)
	}
	changed, err := output(root, "git", "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	r.changed = changed != ""
	if version == "" {
		r.version = r.versionOf()
	} else if !semver.MatchString(version) {
		return nil, fmt.Errorf("--version %q is not like 1.2.3 or 1.2.3-rc.1", version)
	}
	if old, _ := os.ReadDir(r.out); len(old) > 0 {
		return nil, fmt.Errorf("%s is not empty: remove it, or choose another --out", r.out)
	}
	return r, os.MkdirAll(r.out, 0o755)
}

// versionOf names a commit as Go does, by its tag or its time and id, but with -dirty: build metadata
// after a plus is lost in npm and not allowed in tags of images.
func (r *release) versionOf() string {
	version := "0.0.0-" + r.time.Format("20060102150405") + "-" + r.commit[:12]
	if tag, err := output(r.root, "git", "describe", "--tags", "--exact-match", "--match", "v[0-9]*"); err == nil && semver.MatchString(tag[1:]) {
		version = tag[1:]
	}
	if r.changed {
		version += "-dirty"
	}
	return version
}

// write adds a file to the release.
func (r *release) write(name string, data []byte) error {
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	r.mu.Lock()
	r.sums[name] = sum
	r.mu.Unlock()
	fmt.Printf("%11d  %s\n", len(data), name)
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

func (r *release) writeJSON(name string, v any) error {
	return r.write(name, indented(v))
}

func indented(v any) []byte {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // only of maps, slices and texts
	}
	return append(data, '\n')
}

// checksums writes what sha256sum --check reads.
func (r *release) checksums() error {
	var lines strings.Builder
	names := make([]string, 0, len(r.sums))
	for name := range r.sums {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&lines, "%s  %s\n", r.sums[name], name)
	}
	return r.write("SHA256SUMS", []byte(lines.String()))
}

// download is where a file of the release will be published.
func (r *release) download(name string) string {
	return homepage + "/releases/download/v" + r.version + "/" + name
}

func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	return outputOf(cmd)
}

func outputOf(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	if err != nil {
		if failed, ok := err.(*exec.ExitError); ok && len(failed.Stderr) > 0 {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
		}
		return "", fmt.Errorf("%s %s: %w", filepath.Base(cmd.Path), cmd.Args[1], err)
	}
	return strings.TrimSpace(string(out)), nil
}
