package packages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/filelock"
)

const (
	// installLimit is how long one installation may take. The largest servers need
	// minutes on a slow network.
	installLimit = 15 * time.Minute
	// turn is how long an installation keeps others from the processor: one that
	// waits for the network may take much longer.
	turn = 30 * time.Second
	// After a failure the package runner itself is used for so long: it says more.
	failureKept = 5 * time.Minute
	// checkEvery is how often a package without a version is asked for at the
	// registry.
	checkEvery = 24 * time.Hour
	// idleDelay is how long after a start that and the like begins: a start needs the
	// processor.
	idleDelay = 5 * time.Second
	// keepUnused is the time for which an unused version is kept.
	keepUnused = 30 * 24 * time.Hour
)

// A Store is a folder of installed packages. Several processes may use one. It is
// safe for concurrent use. Close must be called.
type Store struct {
	dir   string
	log   *slog.Logger
	slots chan struct{} // an installation takes one
	idle  chan struct{} // slot of background work
	delay time.Duration // before that

	ctx    context.Context // done when the store is closed
	cancel context.CancelFunc

	mu       sync.Mutex
	closed   bool
	wg       sync.WaitGroup
	installs map[string]*install
	failed   map[string]failure
	planned  map[string]bool              // see checkLater
	reviews  map[string]map[string]Review // by package and server
}

// An install is under way; all who want the package wait for the same one.
type install struct {
	done chan struct{}
	err  error // set before done is closed
}

type failure struct {
	err error
	at  time.Time
}

// Open returns the store in the state directory dir, with folders that are created by
// the first installation. A nil log discards.
func Open(dir string, log *slog.Logger) *Store {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Store{
		dir: dir, log: log, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), idle: make(chan struct{}, 1), delay: idleDelay,
		installs: make(map[string]*install), failed: make(map[string]failure), planned: make(map[string]bool), reviews: make(map[string]map[string]Review),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Close ends what is being installed, which leaves nothing that is taken for
// whole, and returns when it has ended.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.wg.Wait()
}

// run runs f in a goroutine that Close waits for.
func (s *Store) run(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Go(f)
	return true
}

// A manager installs packages of one registry.
type manager interface {
	// platform returns a name for the platform, to which a folder is specific.
	platform(ctx context.Context) (string, error)
	// install installs a version, "" for the newest, in dir, which is empty.
	install(ctx context.Context, dir, version string) error
	// installed is the version that is installed in dir.
	installed(dir string) (string, error)
	// newest asks the registry for the version that the spec selects and that runs
	// here, or "". known is the one in use, or "". It also returns the reason another
	// version is skipped.
	newest(ctx context.Context, known string) (version, skipped string, err error)
	// command starts the program in dir; an error means that it is not whole.
	command(dir string) (launch.Command, error)
	// elsewhere returns the folder of another complete installation, or "".
	elsewhere(ctx context.Context) string
}

// A request is a command that asks for a package.
type request struct {
	Spec
	manager
	platform string
	root     string // where packages of its kind are
}

// Command returns c without its package runner. It installs a missing package and waits
// for that, unless npx has a complete installation, which is used until then. An error
// is the reason c runs more or less unchanged: ErrNotPlain, or a failure.
func (s *Store) Command(ctx context.Context, c launch.Command) (launch.Command, error) {
	return s.ReviewedCommand(ctx, c, "", func(context.Context, Update) error { return nil })
}

// ReviewedCommand is Command for a server. A newer version of its package is used only
// if review and the reviews of all servers that use the package agree. With a nil
// review, it does not look for newer versions.
func (s *Store) ReviewedCommand(ctx context.Context, c launch.Command, server string, review Review) (launch.Command, error) {
	spec, err := Parse(c.Program, c.Args)
	if err != nil {
		return c, err
	}
	c = s.withData(ctx, c, spec)
	r, err := s.request(ctx, c, spec)
	if err != nil {
		return c, err
	}
	if review != nil {
		s.addReview(r, server, review)
	}
	version := s.Version(r.Spec)
	for range 2 {
		if dir := r.dir(version); version != "" {
			if direct, err := r.command(dir); err == nil {
				now := time.Now()
				_ = os.Chtimes(dir, now, now) // in use: see prune
				if review != nil {
					s.checkLater(r)
				}
				return direct, nil
			}
		}
		if dir := r.elsewhere(ctx); dir != "" && (version == "" || r.Exact()) {
			if direct, err := r.command(dir); err == nil {
				s.inBackground("install", r, func() error { return s.ensure(s.ctx, r, version) })
				return direct, nil
			}
		}
		if err := s.ensure(ctx, r, version); err != nil {
			return c, err
		}
		version = s.Version(r.Spec)
	}
	return c, fmt.Errorf("install %s: the package was removed right after its installation", r.asked(version))
}

// Package returns the package that c asks for, with the version that a start uses, if
// known. An error is the reason c runs unchanged.
func (s *Store) Package(ctx context.Context, c launch.Command) (string, error) {
	spec, err := Parse(c.Program, c.Args)
	if err == nil {
		_, err = s.request(ctx, c, spec)
	}
	if err != nil {
		return "", err
	}
	return spec.asked(s.Version(spec)), nil
}

// request finds out what c needs.
func (s *Store) request(ctx context.Context, c launch.Command, spec Spec) (request, error) {
	r := request{Spec: spec}
	var err error
	if spec.Runner == "npx" {
		r.root = filepath.Join(s.dir, "npm")
		r.manager, err = newNPM(c, spec, r.root)
	} else {
		r.root = filepath.Join(s.dir, "uv")
		r.manager, err = newUV(c, spec)
	}
	if err == nil {
		r.platform, err = r.manager.platform(ctx)
	}
	return r, err
}

func (r request) dir(version string) string {
	return filepath.Join(r.root, r.folder()+"@"+version+"-"+r.platform)
}

// ensure waits until a version is installed, "" for the newest: by an
// installation that is under way, or by a new one.
func (s *Store) ensure(ctx context.Context, r request, version string) error {
	key := r.root + r.folder() + "@" + cmp.Or(version, r.Version) + r.platform
	s.mu.Lock()
	if f, ok := s.failed[key]; ok && time.Since(f.at) < failureKept {
		s.mu.Unlock()
		return f.err
	}
	i := s.installs[key]
	if i == nil && !s.closed {
		i = &install{done: make(chan struct{})}
		s.installs[key] = i
		s.wg.Go(func() {
			i.err = s.install(r, version)
			s.mu.Lock()
			delete(s.installs, key)
			if i.err != nil && s.ctx.Err() == nil {
				s.failed[key] = failure{i.err, time.Now()}
			}
			s.mu.Unlock()
			close(i.done)
		})
	}
	s.mu.Unlock()
	if i == nil {
		return errors.New("install a package: the broker ends")
	}
	select {
	case <-i.done:
		return i.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// install installs a version, unless another process has done so meanwhile.
func (s *Store) install(r request, version string) error {
	ctx, cancel := context.WithTimeout(s.ctx, installLimit)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		leave := sync.OnceFunc(func() { <-s.slots })
		defer leave()
		defer time.AfterFunc(turn, leave).Stop()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := os.MkdirAll(r.root, 0o700); err != nil {
		return fmt.Errorf("install %s: %w", r.asked(version), err)
	}
	unlock, err := filelock.Lock(ctx, filepath.Join(r.root, "."+r.folder()+".lock"))
	if err != nil {
		return fmt.Errorf("install %s: %w", r.asked(version), err)
	}
	defer unlock()
	version = cmp.Or(version, s.Version(r.Spec))
	first := version == ""
	if !first {
		if _, err := r.command(r.dir(version)); err == nil {
			return nil
		}
	}
	start := time.Now()
	if version, err = s.stage(ctx, r, version); err != nil {
		return fmt.Errorf("install %s: %w", r.asked(cmp.Or(version, r.Version)), err)
	}
	s.log.Info("installed", "package", r.asked(version), "took", time.Since(start))
	s.prune(r.root)
	if r.Exact() || !first {
		return nil // the caller that asked for a version records it
	}
	return s.note(r.Spec, r.root, known{Version: version, Checked: time.Now()})
}

// stage installs a version in a temporary folder and renames that. The lock of
// the package is held.
func (s *Store) stage(ctx context.Context, r request, version string) (string, error) {
	left, _ := filepath.Glob(filepath.Join(globQuote(r.root), "."+globQuote(r.folder())+"@*.tmp")) // no error: the pattern is right
	for _, dir := range left {
		_ = os.RemoveAll(dir) // left by a killed process; harmless
	}
	tmp, err := os.MkdirTemp(r.root, "."+r.folder()+"@*.tmp")
	if err != nil {
		return "", err
	}
	defer func() {
		if ctx.Err() == nil { // otherwise out of time; the next one does it
			_ = os.RemoveAll(tmp) // nothing is there after the rename
		}
	}()
	if err := r.install(ctx, tmp, cmp.Or(version, r.Version)); err != nil {
		return version, err
	}
	got, err := r.installed(tmp)
	if err != nil {
		return version, err
	}
	if _, err := r.command(tmp); err != nil {
		return got, err
	}
	dir := r.dir(got)
	if _, err := r.command(dir); err == nil {
		return got, nil // the newest is the one that is there
	}
	if err := os.RemoveAll(dir); err != nil { // something is missing in it
		return got, err
	}
	if err := rename(tmp, dir); err != nil {
		return got, err
	}
	syncDir(r.root)
	return got, nil
}

// rename tries again where a virus scanner holds what was just written.
func rename(from, to string) error {
	err := os.Rename(from, to)
	for range 20 {
		if err == nil || runtime.GOOS != "windows" {
			break
		}
		time.Sleep(100 * time.Millisecond)
		err = os.Rename(from, to)
	}
	return err
}

// syncDir makes a rename in dir last, where the system can.
func syncDir(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync() // not on Windows
		f.Close()
	}
}

// prune removes versions that have not been started for a long time.
func (s *Store) prune(root string) {
	entries, _ := os.ReadDir(root) // made by install
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() || time.Since(info.ModTime()) < keepUnused {
			continue
		}
		trash := filepath.Join(root, "."+e.Name()+".tmp")
		if os.Rename(filepath.Join(root, e.Name()), trash) == nil { // in one step, so that it is never incomplete
			_ = os.RemoveAll(trash)
			s.log.Info("removed an unused package", "folder", e.Name())
		}
	}
}
