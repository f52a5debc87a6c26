// Command quickstart shows the broker's main job on a machine with only Go and git. It
// builds two small MCP servers, one for the git history of a repository and one for its
// source tree, and a program with the broker in it. The program runs a script,
// report.ts, that joins data of both servers, as a model would. It prints the report,
// the calls that the script made and the share of the data that a model would have
// read.
//
//	go run ./examples/quickstart [-repo DIR] [SCRIPT]
//
// SCRIPT replaces report.ts. The command exits with the script's exit code. It writes
// to a temporary directory, which it removes at the end.
package main

import (
	"bytes"
	"cmp"
	"context"
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

// run builds the programs and runs the example. An empty script means report.ts, and an
// empty repo the repository of this module. It returns the exit code of the script; an
// error means that the script did not run.
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
	if err := build(ctx, root, dir, stderr); err != nil {
		return 1, err
	}
	script = cmp.Or(script, filepath.Join(root, "examples", "quickstart", "report.ts"))
	return report(ctx, dir, repo, script, stdout, stderr)
}

// moduleRoot returns the directory of this module, wherever in it we are.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find the source of %s: %w (run this inside a clone of it)", module, explain(err))
	}
	return strings.TrimSpace(string(out)), nil
}

// checkGit reports a missing git command, or a missing history in repo, before anything
// is built.
func checkGit(ctx context.Context, repo string) error {
	if _, err := exec.LookPath("git"); err != nil {
		return fmt.Errorf("%w: install git, the example reads a git history", err)
	}
	if _, err := exec.CommandContext(ctx, "git", "-C", repo, "rev-parse", "--verify", "HEAD").Output(); err != nil {
		return fmt.Errorf("%s has no git history: %w (clone a repository, or name one with -repo)", repo, explain(err))
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

// report runs the program with the broker. It returns the exit code of the
// script.
func report(ctx context.Context, dir, repo, script string, stdout, stderr io.Writer) (int, error) {
	program := filepath.Join(dir, "embedded")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	cmd := exec.CommandContext(ctx, program, "-repo", repo, "-servers", dir, "-state", filepath.Join(dir, "state"), script)
	cmd.WaitDelay = 5 * time.Second
	if runtime.GOOS != "windows" { // where a process cannot be interrupted
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Run(); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
			return exit.ExitCode(), nil
		}
		return 1, err
	}
	return 0, nil
}
