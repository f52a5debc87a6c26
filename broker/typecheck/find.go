package typecheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// A Compiler is a native TypeScript compiler.
type Compiler struct {
	// Path is the program itself, never a script that starts it.
	Path string
	// Version is the version that it reports, such as "7.0.2".
	Version string
}

// minMajor is the first major version with a native compiler.
const minMajor = 7

// find looks for a compiler where the options say, and asks it for its version.
func (c *Checker) find(ctx context.Context) (Compiler, error) {
	if c.o.Compiler != "" {
		path, err := native(c.o.Compiler)
		if err != nil {
			return Compiler{}, fmt.Errorf("%w at %s: %w", ErrNoCompiler, c.o.Compiler, err)
		}
		return c.ask(ctx, path)
	}
	err := ErrNoCompiler
	for _, path := range c.candidates() {
		compiler, failed := c.ask(ctx, path)
		if failed == nil {
			return compiler, nil
		}
		err = failed
	}
	return Compiler{}, err
}

// candidates are the compilers in PATH and in node_modules, in this order.
func (c *Checker) candidates() []string {
	var found []string
	for _, name := range []string{"tsgo", "tsc"} {
		if path, err := exec.LookPath(name); err == nil {
			if path, err = native(path); err == nil {
				found = append(found, path)
			}
		}
	}
	for _, dir := range c.o.Dirs {
		if path, ok := packaged(dir); ok {
			found = append(found, path)
		}
	}
	return found
}

// native returns the program that path is or starts: npm puts a script for Node
// in front of it, which cannot run where only the compiler may.
func native(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	dir := real
	if !info.IsDir() {
		script, err := isScript(real)
		if err != nil || !script {
			return real, err
		}
		dir = filepath.Dir(real)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if path, ok := packaged(at); ok {
			return path, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not a native compiler, and there is none beside it", path)
		}
	}
}

// isScript reports whether a file is text and not a program.
func isScript(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return !bytes.ContainsRune(head[:n], 0), nil
}

// packaged finds the compiler in dir, which is a package for this system or has
// it in its node_modules.
func packaged(dir string) (string, bool) {
	system, arch, exe := runtime.GOOS, runtime.GOARCH, ""
	if system == "windows" {
		system, exe = "win32", ".exe"
	}
	if arch == "amd64" {
		arch = "x64"
	}
	for _, p := range []struct{ name, file string }{{"typescript", "tsc"}, {"native-preview", "tsgo"}} {
		inside := filepath.Join("@typescript", p.name+"-"+system+"-"+arch, "lib", p.file+exe)
		for _, path := range []string{
			filepath.Join(dir, "lib", p.file+exe),
			filepath.Join(dir, "node_modules", inside),
		} {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				if script, err := isScript(path); err == nil && !script {
					return path, true
				}
			}
		}
	}
	return "", false
}

var versionText = lazyregexp.New(`(\d+)\.\d+\.\d+\S*`)

// ask asks a compiler for its version.
func (c *Checker) ask(ctx context.Context, path string) (Compiler, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, fmt.Errorf("no answer within %s", c.o.Timeout))
	defer cancel()
	out, err := c.run(ctx, Compiler{Path: path}, filepath.Dir(path), "--version")
	if err != nil {
		return Compiler{}, fmt.Errorf("%w: ask %s for its version: %w", ErrNoCompiler, path, err)
	}
	m := versionText.FindSubmatch(out)
	if m == nil {
		return Compiler{}, fmt.Errorf("%w: %s did not print a version but %q", ErrNoCompiler, path, firstLine(string(out)))
	}
	if major, err := strconv.Atoi(string(m[1])); err != nil || major < minMajor {
		return Compiler{}, fmt.Errorf("%w: %s is version %s, which is before %d", ErrNoCompiler, path, m[0], minMajor)
	}
	return Compiler{Path: path, Version: string(m[0])}, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return gate.Cut(line, 300)
}
