// Firsthour plays the first hour of a new user with builds of the broker: a fresh
// home with the files of six clients and the servers of npm that they name, then
// "broker init", and every command that lists or searches, each with its time.
//
//	go -C tools run ./firsthour [flags] FOLDER...
//
// Each FOLDER holds a broker program; the table has a column for each. A server
// that answered its client before init and that no client reaches afterwards is
// lost; with -limit, the exit code is 1 if one is lost or a command but init
// took longer.
// It needs npx and an npm registry.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "firsthour:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("firsthour", flag.ContinueOnError)
	cache := flags.String("cache", "", "npm's cache that each home begins with, as npx has left it; may be empty")
	dir := flags.String("dir", "", "where the homes are made, and stay; empty for a folder that is removed")
	limit := flags.Duration("limit", 0, "the longest time that a command after init may take, 0 for any")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("want folders with a broker: go -C tools run ./firsthour [flags] FOLDER")
	}
	if *dir == "" {
		made, err := os.MkdirTemp("", "firsthour-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(made)
		*dir = made
	}
	var works map[string]bool // by the entry's client and name
	var columns []*column
	for i, folder := range flags.Args() {
		h, err := makeHome(ctx, filepath.Join(*dir, fmt.Sprint(i)), *cache)
		if err != nil {
			return err
		}
		if works == nil {
			works = h.probeAll(ctx)
		}
		c, err := measure(ctx, h, filepath.Join(folder, "broker"), works)
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		columns = append(columns, c)
	}
	printTable(os.Stdout, columns)
	return check(columns[len(columns)-1], *limit)
}

// check returns what the last column has that must not be.
func check(c *column, limit time.Duration) error {
	if limit == 0 {
		return nil
	}
	var errs []error
	for _, name := range c.lost {
		errs = append(errs, fmt.Errorf("lost: %s", name))
	}
	for _, r := range c.rows[1:] {
		if r.took > limit {
			errs = append(errs, fmt.Errorf("%s took %s", r.name, r.took.Round(time.Millisecond)))
		}
	}
	return errors.Join(errs...)
}
