package repo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A workshop makes repositories, with the git program and nobody's settings.
type workshop struct {
	t    *testing.T
	dir  string
	bare string
}

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	w := &workshop{t: t, dir: t.TempDir(), bare: filepath.Join(t.TempDir(), "plugins.git")}
	w.git("init", "--quiet", "--initial-branch=main", ".")
	w.git("init", "--quiet", "--bare", "--initial-branch=main", w.bare)
	return w
}

func (w *workshop) git(args ...string) string {
	w.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.autocrlf=false", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.dir, &out, &errs
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("git %v: %v: %s", args, err, errs.String())
	}
	return strings.TrimSpace(out.String())
}

func (w *workshop) write(name, text string) {
	w.t.Helper()
	file := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// publish commits everything, puts it into the bare repository and returns the
// commit.
func (w *workshop) publish() string {
	w.t.Helper()
	w.git("add", "--all")
	w.git("commit", "--quiet", "--allow-empty", "-m", "x")
	w.git("push", "--quiet", "--force", "--tags", w.bare, "HEAD:main")
	return w.git("rev-parse", "HEAD")
}

func (w *workshop) url() string { return "file://" + filepath.ToSlash(w.bare) }

// fetch fetches into a new folder and returns its files.
func (w *workshop) fetch(s Source, o *Options) (*Fetched, []string, string, error) {
	w.t.Helper()
	dir := w.t.TempDir()
	if s.URL == "" {
		s.URL = w.url()
	}
	got, err := Fetch(w.t.Context(), s, dir, o)
	var files []string
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	return got, files, dir, err
}

func TestFetchPinsACommit(t *testing.T) {
	w := newWorkshop(t)
	w.write("a/one.txt", "one\r\n")
	w.write("run.sh", "echo\n")
	if err := os.Chmod(filepath.Join(w.dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	first := w.publish()
	w.git("tag", "-m", "v1", "v1")
	w.write("a/two.txt", "two")
	second := w.publish()
	tests := []struct {
		name   string
		source Source
		commit string
		files  []string
	}{
		{"default branch", Source{}, second, []string{"a/one.txt", "a/two.txt", "run.sh"}},
		{"annotated tag", Source{Ref: "v1"}, first, []string{"a/one.txt", "run.sh"}},
		{"commit", Source{Ref: first}, first, []string{"a/one.txt", "run.sh"}},
		{"commit alone", Source{Commit: first}, first, []string{"a/one.txt", "run.sh"}},
		{"folder", Source{Folder: "a", Ref: "main", Commit: second}, second, []string{"one.txt", "two.txt"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, files, dir, err := w.fetch(tt.source, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&Fetched{Commit: tt.commit}, got); diff != "" {
				t.Errorf("fetched (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.files, files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if tt.name == "default branch" {
				if text, _ := os.ReadFile(filepath.Join(dir, "a", "one.txt")); string(text) != "one\r\n" {
					t.Errorf("one.txt is %q, want the bytes as they are stored", text)
				}
				if info, err := os.Stat(filepath.Join(dir, "run.sh")); err != nil || runtime.GOOS != "windows" && info.Mode()&0o100 == 0 {
					t.Errorf("run.sh cannot be run: %v, %v", info, err)
				}
			}
		})
	}
}

func TestFetchSaysWhatIsWrong(t *testing.T) {
	w := newWorkshop(t)
	w.write("one.txt", strings.Repeat("1234567890", 1000))
	w.write("two.txt", "2")
	commit := w.publish()
	tests := []struct {
		name   string
		source Source
		o      *Options
		code   string
		text   string
	}{
		{"no repository", Source{URL: w.url() + "x"}, nil, "fetch_failed", "git ls-remote"},
		{"no ref", Source{Ref: "nosuch"}, nil, "fetch_failed", "nosuch"},
		{"no folder", Source{Folder: "nosuch"}, nil, "folder_not_found", `"nosuch"`},
		{"a file as folder", Source{Folder: "one.txt"}, nil, "folder_not_found", "one.txt"},
		{"moved", Source{Ref: "main", Commit: strings.Repeat("0", 40)}, nil, "commit_mismatch", commit},
		{"many files", Source{}, &Options{Files: 1}, "repository_too_large", "1 files: name the folder"},
		{"large files", Source{}, &Options{Bytes: 5000}, "repository_too_large", "MiB: name the folder"},
		{"large store", Source{}, &Options{FetchBytes: 10}, "repository_too_large", "fetch it yourself"},
		{"no time", Source{}, &Options{Timeout: time.Nanosecond}, "fetch_timeout", "1ns: try again"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, files, _, err := w.fetch(tt.source, tt.o)
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Code != tt.code || !strings.Contains(e.Message, tt.text) {
				t.Errorf("error = %v (%+v), want %s with %q", err, e, tt.code, tt.text)
			}
			if len(files) > 0 {
				t.Errorf("files were written: %v", files)
			}
		})
	}
}

func TestAddressesThatCouldDoMoreAreRefused(t *testing.T) {
	for _, s := range []Source{
		{URL: "ext::sh -c touch% x"}, {URL: "fd::7"}, {URL: "--upload-pack=x"}, {URL: "/tmp/x"}, {URL: "http://example.com/x"},
		{URL: "ssh://-oProxyCommand=x/y"}, {URL: "-oProxyCommand=x@h:y"}, {URL: "h@-x:y"}, {URL: "https://me:secret@example.com/x"}, {URL: "https://token@example.com/x"},
		{URL: "git://example.com/x"}, {URL: "https://"}, {URL: "u@h::x"}, {URL: "HTTPS://example.com/x"}, {URL: "File:///x"}, {URL: "HTTPS://me:secret@example.com/x"},
		{URL: "https://h/x", Ref: "-u"}, {URL: "https://h/x", Ref: "a:refs/heads/b"}, {URL: "https://h/x", Ref: "a..b"}, {URL: "https://h/x", Ref: "*"},
		{URL: "https://h/x", Folder: "../y"}, {URL: "https://h/x", Folder: "/y"}, {URL: "https://h/x", Folder: "a:b"}, {URL: "https://h/x", Commit: "abc"},
	} {
		err := s.Check()
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != "bad_repository" || strings.Contains(err.Error(), "secret") {
			t.Errorf("Check(%+v) = %v, want bad_repository", s, err)
		}
	}
	for _, s := range []Source{
		{URL: "https://example.com/o/r.git"}, {URL: "ssh://git@example.com:22/o/r"}, {URL: "git@example.com:o/r.git", Ref: "refs/tags/v1.2+3", Folder: "a/b"},
		{URL: "http://127.0.0.1:80/x"}, {URL: "file:///srv/x"},
	} {
		if err := s.Check(); err != nil {
			t.Errorf("Check(%+v) = %v", s, err)
		}
		if _, ok := Of(s.URL); !ok {
			t.Errorf("%s is not taken for an address", s.URL)
		}
	}
	for text, want := range map[string]Source{
		"owner/skills":                                 {URL: "https://github.com/owner/skills.git"},
		"github.com/owner/skills":                      {URL: "https://github.com/owner/skills.git"},
		"https://github.com/owner/skills.git":          {URL: "https://github.com/owner/skills.git"},
		"https://github.com/owner/skills/":             {URL: "https://github.com/owner/skills.git"},
		"https://github.com/o/s/tree/v1.2/skills/pdf/": {URL: "https://github.com/o/s.git", Ref: "v1.2", Folder: "skills/pdf"},
		"https://git.example.com/o/s":                  {URL: "https://git.example.com/o/s"},
	} {
		if got, ok := Of(text); !ok || got != want || got.Check() != nil {
			t.Errorf("Of(%q) = %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, path := range []string{"./x", "x.zip", "a/b/c", "-x/y", "/tmp/a@b:c/d", `C:\x`, "a:b"} {
		if _, ok := Of(path); ok {
			t.Errorf("%s is taken for an address", path)
		}
	}
}

// Nothing of a repository is run or followed, and nothing outside of it is read.
func TestHostileRepository(t *testing.T) {
	w := newWorkshop(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	touch := "touch '" + ran + "'"
	w.write("plain.txt", "plain $Id$\n")
	w.write("ok.txt", "$Format:%H$\n")
	w.write("asset.bin", lfsPointer+"v1\noid sha256:00\nsize 9\n")
	w.write(".gitattributes", "*.txt filter=evil ident export-subst\nplain.txt export-ignore\n")
	w.write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = -u./x\n\tupdate = !"+touch+"\n")
	w.write("hooks/post-checkout", "#!/bin/sh\n"+touch+"\n")
	links := true
	for name, to := range map[string]string{"out": secret, "up": "../../../etc/passwd", "in": "ok.txt", "folder": "/"} {
		if err := os.Symlink(to, filepath.Join(w.dir, name)); err != nil {
			links = false
		}
	}
	w.git("add", "--all")
	w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub")
	w.git("commit", "--quiet", "-m", "x")
	w.git("push", "--quiet", w.bare, "HEAD:main")
	// The serving side has hooks, and the fetching user a filter and hooks.
	hook := filepath.Join(w.bare, "hooks", "post-update")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\n"+touch+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	hooks := t.TempDir()
	if err := os.WriteFile(filepath.Join(hooks, "reference-transaction"), []byte("#!/bin/sh\n"+touch+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config")
	text := "[filter \"evil\"]\n\tsmudge = " + touch + "\n\trequired = true\n[core]\n\thooksPath = " + filepath.ToSlash(hooks) + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GIT_DIR", "/nowhere") // what points git elsewhere is not handed on

	got, files, dir, err := w.fetch(Source{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".gitattributes", ".gitmodules", "asset.bin", "hooks/post-checkout", "ok.txt", "plain.txt"}
	if links {
		want = slices.Insert(want, 4, "in") // a link that stays inside
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"plain.txt": "plain $Id$\n", "ok.txt": "$Format:%H$\n"} {
		if text, _ := os.ReadFile(filepath.Join(dir, name)); string(text) != want {
			t.Errorf("%s is %q, want it as it is stored", name, text)
		}
	}
	if _, err := os.Stat(ran); !errors.Is(err, fs.ErrNotExist) {
		t.Error("something was run")
	}
	notes := []string{`submodule "sub" is not fetched`, `of "asset.bin" only the pointer is fetched: git LFS keeps the file elsewhere`}
	if links {
		for _, name := range []string{"folder", "out", "up"} {
			notes = append(notes, `link "`+name+`" is left out: it leads out of the repository`)
		}
	}
	slices.Sort(got.Notes)
	slices.Sort(notes)
	if diff := cmp.Diff(notes, got.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// A repository that wants a password gets none by asking: no program of the user's
// for that is run, and the error says what to try.
func TestNobodyIsAskedForAPassword(t *testing.T) {
	w := newWorkshop(t)
	ts := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("WWW-Authenticate", `Basic realm="r"`)
		rw.WriteHeader(http.StatusUnauthorized)
	}))
	defer ts.Close()
	ran := filepath.Join(t.TempDir(), "ran")
	ask := filepath.Join(t.TempDir(), "ask")
	if err := os.WriteFile(ask, []byte("#!/bin/sh\ntouch '"+ran+"'\necho me\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("[core]\n\taskPass = "+filepath.ToSlash(ask)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GIT_ASKPASS", ask)
	t.Setenv("SSH_ASKPASS", ask)
	_, _, _, err := w.fetch(Source{URL: ts.URL + "/private"}, nil)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != "fetch_failed" || !strings.Contains(e.Message, "git ls-remote") {
		t.Errorf("error = %v, want fetch_failed with what to try", err)
	}
	if _, err := os.Stat(ran); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the user was asked")
	}
}

// A tree that holds itself many times over has few objects and no end of files,
// or of folders without any.
func TestRepositoryThatUnfoldsIsCut(t *testing.T) {
	for _, tt := range []struct {
		name         string
		files        bool
		levels, wide int
		says         string
	}{
		{"files", true, 8, 10, "4096 files"},
		{"folders without files", false, 12, 10, "4096 folders"},
		{"folders in folders", true, 200, 1, "64 deep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorkshop(t)
			var entry strings.Builder
			if tt.files {
				w.write("f", "x")
				blob := w.git("hash-object", "-w", "f")
				for i := range tt.wide {
					entry.WriteString("100644 blob " + blob + "\t" + string(rune('a'+i)) + "\n")
				}
			}
			tree := mktree(w, entry.String())
			for range tt.levels {
				var lines strings.Builder
				for i := range tt.wide {
					lines.WriteString("040000 tree " + tree + "\t" + string(rune('a'+i)) + "\n")
				}
				tree = mktree(w, lines.String())
			}
			commit := w.git("commit-tree", "-m", "bomb", tree)
			w.git("push", "--quiet", w.bare, commit+":refs/heads/main")
			// In less than the time that a list may take: git is stopped, it does not end.
			ctx, cancel := context.WithTimeout(t.Context(), listTimeout)
			defer cancel()
			_, err := Fetch(ctx, Source{URL: w.url(), Ref: "main"}, t.TempDir(), nil)
			if e, ok := errors.AsType[*Error](err); !ok || e.Code != "repository_too_large" || !strings.Contains(e.Message, tt.says) {
				t.Errorf("error = %v, want repository_too_large and %q", err, tt.says)
			}
		})
	}
}

func mktree(w *workshop, lines string) string {
	w.t.Helper()
	cmd := exec.Command("git", "mktree")
	cmd.Dir, cmd.Stdin = w.dir, strings.NewReader(lines)
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestListOfGitIsReadWithCare(t *testing.T) {
	for _, text := range []string{"100644 blob 12\tf\x00", "100644 blob id x\tf\x00", "100644 blob id 1 f\x00", "100644 blob id 1\tf", strings.Repeat("x", maxEntryBytes+1)} {
		got := &Fetched{}
		l := &listing{set: (&Options{}).orDefault(), got: got}
		if err := l.read(newReader(text), "", ""); err == nil {
			t.Errorf("%.40q: %v, want an error", text, l.files)
		}
	}
}

func newReader(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }
