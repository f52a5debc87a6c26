// Package repo fetches one commit of a git repository into a folder, with the git
// program of this machine.
//
// The repository is not trusted. Nothing is checked out: the commit's files are listed
// with their sizes, counted against limits and then copied out of git's store one by
// one. So no hook, no filter and no attribute of a repository has an effect, and
// submodules are not fetched. git gets only https, ssh and file addresses, uses the
// settings and credentials of the user, and never asks for input.
package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// A Source names files of a repository.
type Source struct {
	// URL is where the repository is: https://host/path, ssh://user@host/path,
	// user@host:path or file:///path.
	URL string `json:"repository"`
	// Ref is a branch, a tag or a whole commit id; empty means the repository's
	// default branch.
	Ref string `json:"ref,omitempty"`
	// Folder is the folder that is wanted, with slashes; empty means all of it.
	Folder string `json:"folder,omitempty"`
	// Commit is the id of the commit that Ref must lead to; empty means any.
	Commit string `json:"commit,omitempty"`
}

// Options bound what is fetched. The zero value of each means its default.
type Options struct {
	Timeout time.Duration // of the whole; default 2 minutes
	// FetchBytes bounds what git stores while it fetches; default 256 MiB.
	FetchBytes int64
	// Files and Bytes bound what is copied; default 4,096 and 64 MiB.
	Files int
	Bytes int64
}

func (o *Options) orDefault() Options {
	if o == nil {
		o = &Options{}
	}
	return Options{
		Timeout: cmp.Or(o.Timeout, 2*time.Minute), FetchBytes: cmp.Or(o.FetchBytes, 256<<20),
		Files: cmp.Or(o.Files, 4096), Bytes: cmp.Or(o.Bytes, 64<<20),
	}
}

// An Error says why a repository cannot be used.
type Error struct {
	// Code is one of git_missing, bad_repository, fetch_failed, fetch_timeout,
	// commit_mismatch, folder_not_found, repository_too_large.
	Code    string
	Message string
}

func (e *Error) Error() string { return e.Message }

func refuse(code, format string, args ...any) error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// scpLike is the short form of an address over ssh.
var scpLike = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^:]`)

// onGitHub is a repository of GitHub as people write it, or as a browser shows it,
// with a branch and a folder.
var onGitHub = lazyregexp.New(`^(?:https://)?(?:www\.)?github\.com/([A-Za-z0-9-]+/[A-Za-z0-9._-]+?)(?:\.git)?(?:/tree/([^/]+)(?:/(.+?))?)?/?$`)

// ownerName is the short form of a repository of GitHub.
var ownerName = lazyregexp.New(`^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$`)

// Of reads the address of a repository. OWNER/NAME and github.com/OWNER/NAME are
// those of GitHub. ok is false for what can only be the path of a file.
func Of(text string) (s Source, ok bool) {
	if m := onGitHub.FindStringSubmatch(text); m != nil {
		return Source{URL: "https://github.com/" + m[1] + ".git", Ref: m[2], Folder: m[3]}, true
	}
	if ownerName.MatchString(text) && !strings.HasPrefix(text, "-") {
		return Source{URL: "https://github.com/" + text + ".git"}, true
	}
	return Source{URL: text}, strings.Contains(text, "://") || scpLike.MatchString(text)
}

var (
	refForm    = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_./@+-]*$`)
	commitForm = lazyregexp.New(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
)

// Check reports what is wrong with the source before anything is fetched, as an
// *Error.
func (s Source) Check() error {
	if err := checkURL(s.URL); err != nil {
		return err
	}
	if s.Ref != "" && (!refForm.MatchString(s.Ref) || strings.Contains(s.Ref, "..")) {
		return refuse("bad_repository", "%.80q is not a branch, tag or commit", s.Ref)
	}
	if s.Commit != "" && !commitForm.MatchString(s.Commit) {
		return refuse("bad_repository", "%.80q is not a commit: give all of its 40 digits", s.Commit)
	}
	if f := s.Folder; f != "" && (!filepath.IsLocal(filepath.FromSlash(f)) || path.Clean(f) != strings.TrimSuffix(f, "/") || strings.ContainsAny(f, ":\\\x00")) {
		return refuse("bad_repository", "%.80q is not a folder of a repository: write it relative to its top, with slashes", f)
	}
	return nil
}

func checkURL(address string) error {
	if scpLike.MatchString(address) {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return refuse("bad_repository", "the address of the repository is wrong: write https://host/path")
	}
	_, secret := u.User.Password()
	ip, _ := netip.ParseAddr(u.Hostname())
	before, _, _ := strings.Cut(address, ":")
	switch {
	case secret || u.Scheme == "https" && u.User != nil:
		return refuse("bad_repository", "the address of %s holds a name or a password: git's credential helper is the place for it", u.Host)
	case before != u.Scheme && strings.EqualFold(before, u.Scheme): // git takes the name for that of a program
		return refuse("bad_repository", "%.40q is not accepted: write the scheme in lower case", before+"://…")
	case u.Scheme == "file" && u.Host == "" && u.Path != "":
	case strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-"):
		return refuse("bad_repository", "%.80q is not a host", u.Host)
	case (u.Scheme == "https" || u.Scheme == "ssh") && u.Hostname() != "" && u.Path != "":
	case u.Scheme == "http" && (u.Hostname() == "localhost" || ip.IsLoopback()):
	default:
		return refuse("bad_repository", "%.200q is not accepted: write https://host/path, user@host:path or file:///path", address)
	}
	return nil
}

// protocols are those that git may use for the address, also where its host or
// the user's settings lead elsewhere: never from the network to local files, and
// never to one that is not encrypted.
func (s Source) protocols() string {
	switch scheme, _, _ := strings.Cut(s.URL, "://"); scheme {
	case "file":
		return "file"
	case "http":
		return "http:https"
	}
	return "https:ssh"
}

// A Fetched says what was fetched.
type Fetched struct {
	// Commit is the id of the commit.
	Commit string
	// Notes name what was left out: submodules, links that lead out of the repository
	// and files of git LFS.
	Notes []string
}

// leftOut adds a note about a link that is not fetched.
func (f *Fetched) leftOut(name, why string) { f.note("link %q is left out: it "+why, name) }

func (f *Fetched) note(format, name string) {
	if len(f.Notes) < maxNotes {
		f.Notes = append(f.Notes, fmt.Sprintf(format, name))
	}
}

// Fetch copies the files of a source into the folder dir, which exists and is
// empty. An error is an *Error if the source is at fault, or git is missing.
func Fetch(ctx context.Context, s Source, dir string, o *Options) (*Fetched, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, refuse("git_missing", "git is not installed here: install it, or fetch the repository yourself and install its folder")
	}
	set := o.orDefault()
	store, err := os.MkdirTemp("", "broker-git-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(store)
	ctx, cancel := context.WithTimeoutCause(ctx, set.Timeout, refuse("fetch_timeout", "the repository took more than %s: try again, or fetch it yourself and install its folder", set.Timeout))
	defer cancel()
	g := &git{program: program, store: store, protocols: s.protocols()}
	commit, err := g.fetch(ctx, s, set.FetchBytes)
	if err != nil {
		return nil, because(ctx, err)
	}
	got := &Fetched{Commit: commit}
	l, err := g.list(ctx, s, commit, set, got)
	if err == nil {
		err = g.copy(ctx, l.files, l.links, dir, got)
	}
	if err != nil {
		return nil, because(ctx, err)
	}
	return got, nil
}

// because is why something ended: the end of its time, if that was it.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if e, ok := errors.AsType[*Error](cause); ok {
			return e
		}
		return cause
	}
	return err
}
