// Command embedded is a program with a broker in it. It connects the broker to the two
// servers of the quickstart, runs one script, and prints the script's output, the calls
// that it made and the share of the data that a model would have read. It exits with
// the script's exit code.
//
//	embedded -repo DIR -servers DIR -state DIR SCRIPT
//
// It shows how to use the package broker: package state/files stores long results and
// values, and journal.go counts the bytes of calls. A program that serves the broker to
// MCP clients calls [broker.Broker.ServeStdio] or [broker.Broker.Handler] in place of
// [broker.Broker.Execute].
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
	"github.com/mcpbroker/mcpbroker/state/files"
)

func main() {
	// Each script runs in a child process. Without broker-worker beside it, the
	// child is this program again, and Main contains it before it reads the script.
	if worker.IsChild() {
		worker.Main()
		return
	}
	var p params
	flag.StringVar(&p.repo, "repo", ".", "the repository to report on")
	flag.StringVar(&p.servers, "servers", "", "the folder with the programs history and source")
	flag.StringVar(&p.state, "state", "", "the folder for tool lists, results and values")
	flag.Parse()
	p.script = flag.Arg(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, p, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		code = 1
	}
	os.Exit(code)
}

// params are the command-line options.
type params struct {
	repo, servers, state, script string
}

// program returns the path of a server's program.
func (p params) program(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(p.servers, name)
}

// run runs the script and shows the outcome. It returns the exit code of the
// script; an error means that the script did not run.
func run(ctx context.Context, p params, stdout, stderr io.Writer) (int, error) {
	code, err := os.ReadFile(p.script)
	if err != nil {
		return 0, err
	}
	calls := new(journal)
	store := files.Open(p.state, nil)
	b, err := broker.New(broker.Deps{Runner: worker.New(nil), Audit: calls, Results: store, Values: store, CacheDir: p.state}, broker.Settings{Servers: []upstream.Config{
		{Name: "history", Command: p.program("history"), Args: []string{"-repo", p.repo}, Description: "git history: commits, changed files, diffs, contributors"},
		{Name: "source", Command: p.program("source"), Args: []string{"-root", p.repo}, Description: "source tree: files, lines, Go functions, text search"},
	}})
	if err != nil {
		return 0, err
	}
	defer b.Close()

	// Refresh connects to the servers and lists their tools. A program that serves
	// clients calls Start instead, which does so in the background.
	if err := failed(b.Refresh(ctx)); err != nil {
		return 0, err
	}
	answer := b.Execute(ctx, broker.ExecuteRequest{Client: "quickstart", Code: string(code)})
	definitions, err := measureDefinitions(b)
	if err != nil {
		return 0, err
	}
	show(stdout, stderr, answer, calls.total(), definitions)
	return answer.ExitCode, nil
}

// failed returns an error that names the servers that could not be reached.
func failed(servers []upstream.Status) error {
	var errs []error
	for _, s := range servers {
		if s.Err != nil {
			errs = append(errs, fmt.Errorf("server %s: %w", s.Name, s.Err))
		}
	}
	return errors.Join(errs...)
}
