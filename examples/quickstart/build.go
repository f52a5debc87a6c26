package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// programs are the programs of the example: one with a broker, and two MCP servers.
var programs = []string{"./examples/quickstart/embedded", "./examples/quickstart/history", "./examples/quickstart/source"}

// build builds the programs in dir and reports its progress on w.
func build(ctx context.Context, root, dir string, w io.Writer) error {
	p := progress{w: w, start: time.Now(), terminal: isTerminal(w)}
	fmt.Fprintln(w, "building the broker and two MCP servers: a minute or two the first time, seconds later")
	p.total, _ = countPackages(ctx, root) // used only for the progress
	// With -v, go prints the name of each package that it compiles, one on a line.
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-v", "-o", dir + string(filepath.Separator)}, programs...)...)
	cmd.Dir = root
	out, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	failures := p.follow(out)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, failures)
	}
	p.end()
	return nil
}

// countPackages returns the number of packages of the programs.
func countPackages(ctx context.Context, root string) (int, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-deps"}, programs...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	return bytes.Count(out, []byte("\n")), err
}

// A progress shows how many packages have been compiled.
type progress struct {
	w        io.Writer
	start    time.Time
	terminal bool // update one line; otherwise print a line every ten seconds
	total    int
	compiled int
	shown    time.Time
}

// follow reads the output of go build and returns all lines that are not the name of a
// package.
func (p *progress) follow(r io.Reader) string {
	var other []string
	p.shown = p.start
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if strings.ContainsAny(line, " :#") {
			other = append(other, line)
			continue
		}
		p.compiled++
		p.show()
	}
	if err := lines.Err(); err != nil && !errors.Is(err, os.ErrClosed) {
		other = append(other, err.Error())
		_, _ = io.Copy(io.Discard, r)
	}
	return strings.Join(other, "\n")
}

func (p *progress) show() {
	pause := 10 * time.Second
	if p.terminal {
		pause = 100 * time.Millisecond
	}
	if time.Since(p.shown) < pause {
		return
	}
	p.shown = time.Now()
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s", p.status())
	} else {
		fmt.Fprintln(p.w, p.status())
	}
}

func (p *progress) status() string {
	return fmt.Sprintf("%d of at most %d packages compiled, %.0f s", p.compiled, max(p.total, p.compiled), time.Since(p.start).Seconds())
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	fmt.Fprintf(p.w, "built in %.1f s\n", time.Since(p.start).Seconds())
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
