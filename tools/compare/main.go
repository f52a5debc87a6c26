// Compare measures two builds of the broker side by side: starts, calls, searches,
// scripts, memory and disk.
//
//	go -C tools run ./compare [flags] OLD NEW
//
// OLD and NEW are revisions of this repository, which are built, or folders that
// contain a broker program. "." is the working tree. Both must be built alike: with cgo
// a script costs half as much again. The builds take turns, so that both meet the same
// load. The table has medians, and the median and the quartiles of the ratios of the
// turns. With -limit the exit code is 1 if a ratio is above it in all of three attempts.
package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == upstreamArg {
		if err := upstream(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "compare: upstream:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	rounds := flags.Int("rounds", 9, "how many times each build is measured")
	limit := flags.Float64("limit", 0, "the largest ratio of NEW to OLD that is accepted, 0 for any")
	only := flags.String("only", "", "measure only what has this in its name")
	rest := flags.Duration("rest", 0, "also measure the memory after this time without requests, such as 20s")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return errors.New("want two builds: go -C tools run ./compare [flags] OLD NEW")
	}
	dir, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var builds [2]*build
	for i, name := range flags.Args() {
		if builds[i], err = open(ctx, name, filepath.Join(dir, fmt.Sprint(i))); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		builds[i].rest = *rest
	}
	var infos [2]*debug.BuildInfo
	for i, b := range builds {
		if infos[i], err = buildinfo.ReadFile(b.program); err != nil {
			return fmt.Errorf("%s: %w", flags.Arg(i), err)
		}
	}
	if how := unlike(infos[0], infos[1]); how != "" {
		return fmt.Errorf("the programs are not built alike: %s\nhint: give revisions, or build both with CGO_ENABLED=0 go build -ldflags='-s -w'", how)
	}
	t := newTable(*rounds)
	if err := t.measure(ctx, builds, *only); err != nil {
		return err
	}
	if *limit > 0 { // measure rows above the limit again: once may be chance
		for range 2 {
			above := t.above(*limit)
			if len(above) == 0 {
				break
			}
			fmt.Fprintf(os.Stderr, "compare: once more, above %.2f: %s\n", *limit, strings.Join(above, ", "))
			again := newTable(*rounds)
			if err := again.measure(ctx, builds, *only); err != nil {
				return err
			}
			t.keepBetter(again)
		}
	}
	t.print(os.Stdout, flags.Arg(0), flags.Arg(1))
	if above := t.above(*limit); *limit > 0 && len(above) > 0 {
		return fmt.Errorf("more than %.2f times OLD: %s", *limit, strings.Join(above, ", "))
	}
	return nil
}
