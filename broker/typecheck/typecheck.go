// Package typecheck checks a script with a native TypeScript compiler, if there is
// one, before the script runs.
//
// The compiler is a program of the host that reads untrusted text, so it is
// confined like a sandbox: it runs once for each check over a scratch tree that
// holds the script and the wrappers it may use, in a process group and with an
// environment of its own, within limits of memory and time, and, where the
// kernel has Landlock, with no file to read but that tree and its own
// libraries. It resolves no module outside the tree.
package typecheck

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fair"
)

// Options says which compiler is used and how. The zero value finds one.
type Options struct {
	// Compiler is the path of a compiler, or of the npm package that holds one;
	// empty looks for tsgo and tsc in PATH.
	Compiler string
	// Dirs are further folders with a node_modules that may contain a compiler.
	Dirs []string
	// Launcher is a program that calls [Launch] if [IsLauncher]; empty means this one.
	Launcher string
	// Timeout of one check; zero means 5 s.
	Timeout time.Duration
	// MemoryBytes is what the compiler may use; zero means 768 MiB.
	MemoryBytes int64
	// Logger receives what goes wrong; nil discards it.
	Logger *slog.Logger
}

// A Checker checks programs with one compiler. It is safe for concurrent use.
type Checker struct {
	o    Options
	slot *fair.Slots // bounds how many compilers run at one time

	mu       sync.Mutex
	looked   bool
	compiler Compiler
	err      error
	retryAt  time.Time // when to look again after an error
}

// lookAgain is how long a missing compiler is not looked for again.
const lookAgain = time.Minute

// maxConcurrent is how many compilers run at one time; further checks wait.
const maxConcurrent = 2

// New returns a Checker. It does not look for the compiler yet.
func New(o Options) *Checker {
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = 768 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Checker{o: o, slot: fair.New(maxConcurrent, 0, 0)}
}

// ErrNoCompiler is the error of a check without a compiler.
var ErrNoCompiler = errors.New("no native TypeScript compiler was found")

// Install is how to get a compiler.
const Install = "npm install -g typescript@7 (or name a compiler under \"typecheck\")"

// Named reports whether the options name a compiler, so that its absence is an
// error.
func (c *Checker) Named() bool { return c.o.Compiler != "" }

// Compiler returns the compiler. Until it is found, Compiler searches for it at most
// once a minute. The error wraps ErrNoCompiler if there is none.
func (c *Checker) Compiler(ctx context.Context) (Compiler, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.looked || c.err != nil && time.Now().After(c.retryAt) {
		c.compiler, c.err = c.find(ctx)
		c.retryAt = time.Now().Add(lookAgain)
		// A failure because the caller went away is not an answer.
		c.looked = c.err == nil || ctx.Err() == nil
	}
	return c.compiler, c.err
}

// A Program is what is checked.
type Program struct {
	// Source is the script, an ES module.
	Source string
	// Files are the other files by path: the wrappers, what they import, and
	// declarations of globals. Paths are relative, with slashes, and stay inside.
	Files map[string][]byte
	// Namespaces are the globals with tools as members. Only arguments of those, and of
	// functions imported from "servers/", are judged.
	Namespaces []string
	// Owner owns the check: owners share the compilers fairly.
	Owner string
}

// A Diagnostic is one error that the compiler reports in the script.
type Diagnostic struct {
	// Offset is its place in Program.Source, in bytes.
	Offset int
	// Code is the compiler's number for this kind of error: 2322 for TS2322.
	Code int
	// Message is what it says, on one line or more.
	Message string
	// Blocks says that the script fails whatever its own values are. Other errors
	// may be matters of style, or of what a compiler cannot know.
	Blocks bool
}

// source and config are the names of the files that each scratch tree has.
const (
	source = "agent.ts"
	config = "tsconfig.json"
)

// Check runs the compiler on p and returns its errors in the script, not those in
// the other files. An error means that the compiler could not run; it says nothing
// about the script.
func (c *Checker) Check(ctx context.Context, p Program) ([]Diagnostic, error) {
	compiler, err := c.Compiler(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.slot.Acquire(ctx, p.Owner); err != nil {
		return nil, err
	}
	defer c.slot.Release(p.Owner)
	// Waiting for other checks does not count as time of the compiler.
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, fmt.Errorf("no answer from %s within %s", filepath.Base(compiler.Path), c.o.Timeout))
	defer cancel()
	dir, err := scratch(p)
	if dir != "" {
		defer os.RemoveAll(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("type check: %w", err)
	}
	out, err := c.run(ctx, compiler, dir, "-p", filepath.Join(dir, config))
	if err != nil {
		return nil, fmt.Errorf("type check: %w", err)
	}
	found := parse(string(out), p, dir)
	if len(found) == 0 && len(out) > 0 && !mentionsFile(string(out)) {
		return nil, fmt.Errorf("type check: %s: %s", filepath.Base(compiler.Path), firstLine(string(out)))
	}
	return found, nil
}

// options are such that a script that passes also runs, and one that is refused
// does not. noImplicitAny lets variables begin as [] or null and get their type
// later; its own errors block nothing. noResolve keeps the compiler from reading
// files that the script names: every file of the tree is listed instead.
var options = map[string]any{
	"strict": true, "noImplicitAny": true, "useUnknownInCatchVariables": false,
	"noEmit": true, "noResolve": true, "skipLibCheck": true, "incremental": false, "pretty": false,
	"target": "es2022", "lib": []string{"esnext"}, "types": []string{},
	"module": "esnext", "moduleResolution": "bundler", "moduleDetection": "force",
	"allowImportingTsExtensions": true, "paths": map[string][]string{"@/*": {"./*"}},
}

// scratch writes the tree of p into a new directory, which is the caller's to
// remove also after an error.
func scratch(p Program) (string, error) {
	dir, err := os.MkdirTemp("", "broker-typecheck-")
	if err != nil {
		return "", err
	}
	// A compiler that follows links would find itself outside of what it may read.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return dir, err
	}
	defer root.Close()
	names := []string{source}
	for name := range p.Files {
		if name != source && name != config {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if err := root.WriteFile(config, tsconfig(names), 0o600); err != nil {
		return dir, err
	}
	for _, name := range names {
		data := p.Files[name]
		if name == source {
			data = []byte(p.Source)
		}
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o700); err != nil {
			return dir, err
		}
		if err := root.WriteFile(filepath.FromSlash(name), data, 0o600); err != nil {
			return dir, err
		}
	}
	return dir, nil
}
