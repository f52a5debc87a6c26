// Package postgrestest starts a PostgreSQL server for tests.
package postgrestest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/ramdisk"
)

// ErrNone means that this machine has no PostgreSQL.
var ErrNone = errors.New("no initdb in $PATH or /usr/lib/postgresql: install PostgreSQL 15 or later")

// A Server is a database server in a temporary directory. It listens only on a socket there, and
// does not wait for the disk.
type Server struct {
	dir, bin string
	args     []string // additional arguments
	cmd      *exec.Cmd
	exited   chan struct{} // closed when cmd has ended
	log      serverLog
	schemas  atomic.Int64
}

// Start creates and starts a server, which Stop ends. Without PostgreSQL it returns ErrNone.
func Start() (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := ramdisk.MkdirTemp()
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin}
	if err := s.init(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.Run(); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// programs returns the directory of PostgreSQL's programs.
func programs() (string, error) {
	initdb, err := exec.LookPath("initdb")
	if err == nil {
		initdb, err = filepath.EvalSymlinks(initdb)
	}
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
		if len(found) == 0 {
			return "", ErrNone
		}
		initdb = found[len(found)-1]
	}
	return filepath.Dir(initdb), nil
}

// init makes the data directory: a copy of that of the first server of this machine, which
// takes a fifth of the time of initdb.
func (s *Server) init() error {
	if err := giveToServer(s.dir); err != nil {
		return err
	}
	template, err := s.template()
	if err == nil && copyTree(s.data(), template, giveToServer) == nil {
		return nil
	}
	if err := os.RemoveAll(s.data()); err != nil {
		return err
	}
	out, err := s.command("initdb", append([]string{"-D", s.data()}, initArgs...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	if template != "" {
		_ = keepTree(template, s.data()) // the next server is slower without it
	}
	return nil
}

// initArgs are arguments of initdb. Segments of the write-ahead log are small, since each is
// filled with zeros.
var initArgs = []string{"-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--wal-segsize=1", "--no-sync"}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command returns a command of PostgreSQL, run by a user other than root.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	asUser(cmd)
	return cmd
}

// Run starts the server again after Kill.
func (s *Server) Run() error {
	s.cmd = s.command("postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off",
		"-c", "shared_buffers=16MB", "-c", "max_connections=200", "-c", "autovacuum=off", "-c", "jit=off")
	s.cmd.Args = append(s.cmd.Args, s.args...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	ready := s.log.await("ready to accept")
	if err := s.cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	s.exited = exited
	go func(cmd *exec.Cmd) {
		defer close(exited)
		_ = cmd.Wait() // the log has the reason
	}(s.cmd)
	select {
	case <-ready:
		return nil
	case <-exited:
		return fmt.Errorf("PostgreSQL does not start: %s", s.log.last())
	case <-time.After(30 * time.Second):
		return fmt.Errorf("PostgreSQL does not start within 30 s: %s", s.log.last())
	}
}

// Standby creates and starts a standby of s, for which the commits of s wait from then on. Both
// have the schemas of s.
func (s *Server) Standby() (*Server, error) {
	dir, err := ramdisk.MkdirTemp()
	if err != nil {
		return nil, err
	}
	b := &Server{dir: dir, bin: s.bin, args: []string{"-c", "cluster_name=standby"}}
	if err = giveToServer(dir); err == nil {
		var out []byte
		if out, err = s.command("pg_basebackup", "-h", s.dir, "-U", "postgres", "-D", b.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync").CombinedOutput(); err != nil {
			err = fmt.Errorf("pg_basebackup: %w: %s", err, out)
		}
	}
	if err == nil {
		err = b.Run()
	}
	if err == nil {
		_, err = s.Query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
	}
	if err == nil {
		_, err = s.Query("SELECT pg_reload_conf()")
	}
	if err != nil {
		return nil, errors.Join(err, b.Stop())
	}
	return b, nil
}

// Promote makes a standby a primary server.
func (s *Server) Promote() error {
	_, err := s.Query("SELECT pg_promote()")
	return err
}

// Query returns the output of psql for a statement.
func (s *Server) Query(statement string) (string, error) {
	out, err := s.command("psql", "-h", s.dir, "-U", "postgres", "-X", "-A", "-t", "-c", statement, "postgres").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// Pause stops the server and all its processes until the returned function is called.
func (s *Server) Pause() (goOn func() error, err error) { return pause(s.cmd.Process.Pid) }

// Kill ends the server like a crash.
func (s *Server) Kill() error {
	err := s.cmd.Process.Signal(quit)
	<-s.exited
	return err
}

// Stop ends the server and removes its files.
func (s *Server) Stop() error {
	var err error
	if s.exited != nil && !ended(s.exited) {
		err = s.Kill()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

func ended(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Role creates a superuser with a password.
func (s *Server) Role(name, password string) error {
	path := filepath.Join(s.data(), "pg_hba.conf")
	rules, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append([]byte("local all "+name+" scram-sha-256\n"), rules...), 0o600)
	}
	if err == nil {
		_, err = s.Query("SELECT pg_reload_conf()")
	}
	if err == nil {
		_, err = s.Query(fmt.Sprintf("CREATE ROLE %s SUPERUSER LOGIN PASSWORD '%s'", name, password))
	}
	return err
}

// Address returns the address of a new, empty schema of the server or, with others, of whichever
// of them is writable.
func (s *Server) Address(others ...*Server) string {
	hosts := []string{s.dir}
	for _, o := range others {
		hosts = append(hosts, o.dir)
	}
	q := url.Values{"host": {strings.Join(hosts, ",")}, "search_path": {fmt.Sprintf("s%d_%d", os.Getpid(), s.schemas.Add(1))}}
	return "postgres://postgres@/postgres?" + q.Encode()
}

// Socket returns the path of the server's socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

// Dump returns the output of pg_dump for a database.
func (s *Server) Dump() (string, error) {
	out, err := s.command("pg_dump", "-h", s.dir, "-U", "postgres", "--no-sync", "postgres").CombinedOutput()
	return string(out), err
}

// Main runs the tests of a package with one server for all of them, and exits. It first calls set
// with the results of Start.
func Main(m *testing.M, set func(*Server, error)) {
	s, err := Start()
	set(s, err)
	code := m.Run()
	if s != nil {
		_ = s.Stop()
	}
	os.Exit(code)
}

// Need is like Start for a test, which is skipped without PostgreSQL, or fails in CI.
func Need(t testing.TB, s *Server, err error) *Server {
	t.Helper()
	switch {
	case errors.Is(err, ErrNone) && os.Getenv("BROKER_CI") == "":
		t.Skip(err)
	case err != nil:
		t.Fatal(strings.TrimSpace(err.Error()))
	}
	return s
}
