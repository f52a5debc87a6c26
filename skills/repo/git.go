package repo

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

// git runs the program on a store of its own, which has no work tree.
type git struct{ program, store, protocols string }

// settings overrule what the user's and the system's files say, where that could
// run something or fetch more than was asked for.
var settings = []string{
	"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.askPass=", "core.symlinks=false",
	"fetch.recurseSubmodules=false", "submodule.recurse=false", "protocol.version=2", "transfer.bundleURI=false",
	// Larger files are not held in memory; those that are wanted are never so large.
	"core.bigFileThreshold=16m", "pack.threads=1",
	"gc.auto=0", "maintenance.auto=false", "fetch.writeCommitGraph=false",
}

// killWait is how long what git has started may hold its streams after its end.
const killWait = 2 * time.Second

func (g *git) command(ctx context.Context, args ...string) *exec.Cmd {
	all := []string{"--git-dir=" + g.store}
	for _, s := range settings {
		all = append(all, "-c", s)
	}
	cmd := exec.CommandContext(ctx, g.program, append(all, args...)...)
	cmd.Dir = g.store
	cmd.Env = append(environment(), "GIT_ALLOW_PROTOCOL="+g.protocols)
	cmd.WaitDelay = killWait
	spawn.Session(cmd) // the helpers for ssh and https end with it, and find no terminal to ask at
	return cmd
}

// environment is the user's, since it leads to his credentials and proxies, but
// without what points git to another repository or makes it ask.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "GIT_SSL_") && name != "GIT_SSH" && name != "GIT_SSH_COMMAND" && name != "GIT_CONFIG_GLOBAL" && name != "GIT_CONFIG_SYSTEM" {
			continue
		}
		env = append(env, v)
	}
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never",
		"SSH_ASKPASS_REQUIRE=never", "GIT_NO_REPLACE_OBJECTS=1")
}

// run runs git to its end and returns the line that it printed.
func (g *git) run(ctx context.Context, args ...string) (string, error) {
	var out, errs short
	cmd := g.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.Process != nil {
		_ = spawn.Kill(cmd.Process) // what it has left behind: mostly nothing
	}
	if err != nil {
		return "", refuse("fetch_failed", "git %s: %s", args[0], errs.reason(err))
	}
	return strings.TrimSpace(out.String()), nil
}

// stream runs git and lets read have what it prints, up to an error of read.
func (g *git) stream(ctx context.Context, input string, read func(*bufio.Reader) error, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var errs short
	cmd := g.command(ctx, args...)
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	if err = read(bufio.NewReader(out)); err != nil {
		cancel() // what is not read any more
	}
	ended := cmd.Wait()
	if cmd.Process != nil {
		_ = spawn.Kill(cmd.Process) // what it has left behind: mostly nothing
	}
	if err == nil && ended != nil {
		err = refuse("fetch_failed", "git %s: %s", args[0], errs.reason(ended))
	}
	return err
}

// short keeps the beginning of what a program prints.
type short struct{ bytes.Buffer }

func (s *short) Write(p []byte) (int, error) {
	const most = 8 << 10
	s.Buffer.Write(p[:min(len(p), most-min(s.Len(), most))])
	return len(p), nil
}

// reason is what git complains about, in one line.
func (s *short) reason(err error) string {
	var lines []string
	for line := range strings.Lines(s.String()) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "fatal: "); ok {
			line = rest
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return err.Error()
	}
	return gate.Cut(strings.Join(lines, "; "), 300)
}

// fetched is the ref that the wanted commit gets.
const fetched = "refs/broker/fetched"

// fetch gets the commit of a source, and nothing of its history.
func (g *git) fetch(ctx context.Context, s Source, limit int64) (commit string, err error) {
	if _, err := g.run(ctx, "init", "--bare", "--quiet", "--template=", "."); err != nil {
		return "", err
	}
	ref := cmp.Or(s.Ref, s.Commit, "HEAD")
	whole := ctx
	ctx, cancel := context.WithCancelCause(whole)
	stop := g.watch(limit, cancel)
	_, err = g.run(ctx, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
		"--", s.URL, "+"+ref+":"+fetched)
	stop()
	err = because(ctx, err)
	cancel(nil)
	if e, ok := errors.AsType[*Error](err); ok && e.Code == "fetch_failed" {
		e.Message += `: see whether "git ls-remote" with its address works in a terminal: your credentials are used, and nothing is asked for`
	}
	if err != nil {
		return "", err
	}
	if commit, err = g.run(whole, "rev-parse", "--verify", "--end-of-options", fetched+"^{commit}"); err != nil {
		return "", err
	}
	if s.Commit != "" && commit != s.Commit {
		return "", refuse("commit_mismatch", "%s is commit %s, but %s is wanted: it has been moved since: name the commit that you trust", ref, commit, s.Commit)
	}
	return commit, nil
}

// watchEvery is how often the size of the store is looked at.
const watchEvery = 100 * time.Millisecond

// watch cancels when the store has grown above limit.
func (g *git) watch(limit int64, cancel context.CancelCauseFunc) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if size(g.store) > limit {
				cancel(tooLarge(limit))
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		if size(g.store) > limit { // it was fast
			cancel(tooLarge(limit))
		}
	}
}

func tooLarge(limit int64) error {
	return refuse("repository_too_large", "the repository has more than %d MiB: fetch it yourself and install its folder", limit>>20)
}

func size(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // git removes files while it works
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}

// copy writes the files below dir, unchanged, and then the links.
func (g *git) copy(ctx context.Context, files []blob, links []link, dir string, got *Fetched) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := g.contents(ctx, files, func(f blob, r *bufio.Reader) error { return f.write(root, r, got) }); err != nil {
		return err
	}
	return makeLinks(root, links, got)
}

// contents calls read for each of the blobs with a reader of its bytes.
func (g *git) contents(ctx context.Context, blobs []blob, read func(b blob, r *bufio.Reader) error) error {
	var ids strings.Builder
	for _, b := range blobs {
		ids.WriteString(b.id + "\n")
	}
	return g.stream(ctx, ids.String(), func(r *bufio.Reader) error {
		for _, b := range blobs {
			head, err := r.ReadString('\n')
			if err != nil {
				return fmt.Errorf("read %s: %w", b.path, err)
			}
			if want := fmt.Sprintf("%s blob %d\n", b.id, b.size); head != want {
				return refuse("fetch_failed", "git printed %.80q in place of %s", head, b.path)
			}
			if err := read(b, r); err != nil {
				return err
			}
			if _, err := r.Discard(1); err != nil {
				return err
			}
		}
		return nil
	}, "cat-file", "--batch")
}

// lfsPointer begins a file that stands for one that git LFS keeps elsewhere.
const lfsPointer = "version https://git-lfs.github.com/spec/"

// write copies the bytes of a file from r.
func (b blob) write(root *os.Root, r *bufio.Reader, got *Fetched) error {
	local, err := placeFor(root, b.path)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if b.executable {
		mode = 0o700
	}
	f, err := root.OpenFile(local, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if errors.Is(err, fs.ErrExist) {
		return refuse("bad_repository", "%q occurs twice, or differs from another file only by case", b.path)
	}
	if err != nil {
		return err
	}
	if start, _ := r.Peek(len(lfsPointer)); string(start) == lfsPointer {
		got.note("of %q only the pointer is fetched: git LFS keeps the file elsewhere", b.path)
	}
	_, err = io.CopyN(f, r, b.size)
	return errors.Join(err, f.Close())
}

// placeFor creates the folder of a file and returns the path of the file.
func placeFor(root *os.Root, name string) (local string, err error) {
	local = filepath.FromSlash(name)
	if !filepath.IsLocal(local) || path.Clean(name) != name {
		return "", refuse("bad_repository", "%q cannot be a file here", name)
	}
	if at := filepath.Dir(local); at != "." {
		if err := root.MkdirAll(at, 0o700); err != nil {
			return "", refuse("bad_repository", "cannot create a folder for %q; its path may be a file and a folder: %v", name, err)
		}
	}
	return local, nil
}
