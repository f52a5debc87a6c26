// Command quickstart shows the broker's main job on a machine that has only Go
// and git. It builds the broker and two small MCP servers, one for the git
// history of a repository and one for its source tree, lets the broker run
// report.ts, which joins both, and prints the report, the calls that it made
// and how much of it all a model would have read.
//
//	go run ./examples/quickstart [-repo DIR] [SCRIPT]
//
// With SCRIPT, that is run instead of report.ts. The command exits with the
// script's exit code. What it builds and writes goes to a temporary directory,
// which is removed at the end.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const module = "github.com/mcpbroker/mcpbroker"

func main() {
	repo := flag.String("repo", "", "the repository to report on; this one unless given")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, *repo, flag.Arg(0), os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run does it all: it runs script, or report.ts if that is empty, on the
// repository at repo, or this module's own if that is empty. It returns the
// exit code of the script; an error means that it did not come that far.
func run(ctx context.Context, repo, script string, stdout, stderr io.Writer) (int, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return 1, err
	}
	repo, err = filepath.Abs(cmp.Or(repo, root))
	if err != nil {
		return 1, err
	}
	if err := checkGit(ctx, repo); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "broker-quickstart-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)

	start := time.Now()
	fmt.Fprint(stderr, "building the broker and two MCP servers (a minute or two the first time) … ")
	if err := build(ctx, root, dir); err != nil {
		fmt.Fprintln(stderr)
		return 1, err
	}
	fmt.Fprintf(stderr, "%.1f s\n", time.Since(start).Seconds())
	b := broker{dir: dir}
	if err := b.writeConfig(repo); err != nil {
		return 1, err
	}
	script = cmp.Or(script, filepath.Join(root, "examples", "quickstart", "report.ts"))
	return report(ctx, b, script, stdout, stderr)
}

// report lets the broker read what its servers offer and run script, and shows
// what that gave. It returns the script's exit code.
func report(ctx context.Context, b broker, script string, stdout, stderr io.Writer) (int, error) {
	var idx index
	code, err := b.json(ctx, &idx, "index")
	if err != nil {
		return code, err
	}
	if err := idx.failed(); err != nil {
		return max(code, 1), err
	}
	var ex execution
	code, err = b.json(ctx, &ex, "exec", script)
	if err != nil {
		return code, err
	}
	var st stats
	if _, err := b.json(ctx, &st, "audit", "stats"); err != nil {
		return 1, err
	}
	show(stdout, stderr, idx, ex, st)
	return code, nil
}

// moduleRoot returns the directory of this module, wherever in it we are.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find the source of %s: %w (run this inside a clone of it)", module, explain(err))
	}
	return strings.TrimSpace(string(out)), nil
}

// checkGit says what is missing before anything is built: the git command, or
// a history in repo.
func checkGit(ctx context.Context, repo string) error {
	if _, err := exec.LookPath("git"); err != nil {
		return fmt.Errorf("%w: install git, the example reads a git history", err)
	}
	if _, err := exec.CommandContext(ctx, "git", "-C", repo, "rev-parse", "--verify", "HEAD").Output(); err != nil {
		return fmt.Errorf("%s has no git history: %w (clone a repository, or name one with -repo)", repo, explain(err))
	}
	return nil
}

// build puts the programs into dir.
func build(ctx context.Context, root, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator),
		"./cmd/broker", "./cmd/broker-worker", "./examples/quickstart/history", "./examples/quickstart/source")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// explain adds what a command printed on stderr to the error that it ended with.
func explain(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}

// A broker runs the broker's commands with a configuration and a state
// directory of its own.
type broker struct {
	dir string // programs, configuration and state
}

func (b broker) program(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(b.dir, name)
}

// writeConfig writes the servers.json that a user would write by hand; the one
// beside this file is it with "go run" for commands.
func (b broker) writeConfig(repo string) error {
	type server struct {
		Command     string   `json:"command"`
		Args        []string `json:"args"`
		Description string   `json:"description"`
	}
	data, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]server{
		"history": {b.program("history"), []string{"-repo", repo}, "git history: commits, changed files, diffs, contributors"},
		"source":  {b.program("source"), []string{"-root", repo}, "source tree: files, lines, Go functions, text search"},
	}}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.dir, "servers.json"), data, 0o600)
}

// json runs one command and decodes what it prints with --json. It returns the
// command's exit code; an error means that there was no answer to decode.
func (b broker) json(ctx context.Context, answer any, args ...string) (int, error) {
	args = append(args, "--json", "--config", filepath.Join(b.dir, "servers.json"), "--state-dir", filepath.Join(b.dir, "state"))
	cmd := exec.CommandContext(ctx, b.program("broker"), args...)
	cmd.WaitDelay = 5 * time.Second
	if runtime.GOOS != "windows" { // where a process cannot be interrupted
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	}
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	code := max(cmd.ProcessState.ExitCode(), 0)
	if decodeErr := json.Unmarshal(out.Bytes(), answer); decodeErr != nil {
		if err == nil {
			err = fmt.Errorf("its answer is not the JSON that is expected: %w", decodeErr)
		}
		return max(code, 1), fmt.Errorf("broker %s: %w\n%s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return code, nil
}
