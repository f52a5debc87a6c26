package repo

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"
	"time"
)

const (
	// listTimeout bounds git's walk through the folders of a commit: a few folders that
	// contain each other many times are practically infinite.
	listTimeout = 20 * time.Second
	// maxDepth is the number of nested folders in which a file may be.
	maxDepth = 64
	// maxEntryBytes bounds one line of the list.
	maxEntryBytes = 4096
	maxNotes      = 20
)

// A blob is a file or a link of a commit.
type blob struct {
	id         string
	path       string // destination, below the fetched folder
	real       string // path in the repository
	executable bool
	size       int64
}

// A listing is the part of a commit to fetch.
type listing struct {
	set           Options
	got           *Fetched
	files         []blob
	pending       []blob // links with unknown targets
	links         []link
	total         int64
	seen, folders int
}

// list names the files and links of a commit and notes what is left out.
func (g *git) list(ctx context.Context, s Source, commit string, set Options, got *Fetched) (*listing, error) {
	folder := strings.TrimSuffix(s.Folder, "/")
	if folder == "." {
		folder = ""
	}
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, refuse("repository_too_large", "listing its files took more than %s: name the folder to fetch with --folder", listTimeout))
	defer cancel()
	l := &listing{set: set, got: got}
	err := g.listTree(ctx, l, commit, "", folder)
	if e, ok := errors.AsType[*Error](err); ok && e.Code == "fetch_failed" && ctx.Err() == nil && folder != "" && l.seen+l.folders == 0 {
		return nil, refuse("folder_not_found", "the repository has no folder %q in commit %s", s.Folder, commit)
	}
	if err == nil {
		err = g.resolve(ctx, l, commit, folder)
	}
	return l, because(ctx, err)
}

// listTree adds the content of a folder of the repository, to be stored below at.
func (g *git) listTree(ctx context.Context, l *listing, commit, at, folder string) error {
	tree := commit
	if folder != "" {
		tree += ":" + folder
	}
	return g.stream(ctx, "", func(r *bufio.Reader) error { return l.read(r, at, folder) },
		"ls-tree", "-r", "-t", "-l", "-z", "--full-tree", tree)
}

// read reads lines "mode type id size<tab>path", each ended by a NUL: for files, and
// for folders before their content. The paths are below real in the repository, and
// will be below at.
func (l *listing) read(r *bufio.Reader, at, real string) error {
	for {
		line, err := readEntry(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = l.entry(line, at, real)
		}
		if err != nil {
			return err
		}
	}
}

func (l *listing) entry(line, at, real string) error {
	head, name, ok := strings.Cut(line, "\t")
	fields := strings.Fields(head)
	if !ok || len(fields) != 4 {
		return refuse("fetch_failed", "cannot parse git's list of files: %.80q", line)
	}
	if at != "" {
		name = at + "/" + name
	}
	if strings.Count(name, "/") >= maxDepth {
		return refuse("repository_too_large", "its folders are nested more than %d deep", maxDepth)
	}
	if fields[0] == "040000" {
		if l.folders++; l.folders > l.set.Files {
			return refuse("repository_too_large", "it has more than %d folders: name the folder to fetch with --folder", l.set.Files)
		}
		return nil
	}
	below := strings.TrimPrefix(strings.TrimPrefix(name, at), "/")
	return l.add(fields, name, path.Join(real, below))
}

// add adds the entry with these fields at real in the repository, to be stored at name.
func (l *listing) add(fields []string, name, real string) error {
	if l.seen++; l.seen > l.set.Files {
		return refuse("repository_too_large", "it has more than %d files: name the folder to fetch with --folder", l.set.Files)
	}
	switch fields[0] {
	case "160000":
		l.got.note("submodule %q is not fetched", name)
		return nil
	case "120000", "100644", "100664", "100755":
	default:
		l.got.note("%q is not a file and is left out", name)
		return nil
	}
	n, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil {
		return refuse("fetch_failed", "git reports no size for %q", name)
	}
	if l.total += n; l.total > l.set.Bytes || n > l.set.Bytes {
		return refuse("repository_too_large", "its files have more than %d MiB: name the folder to fetch with --folder", l.set.Bytes>>20)
	}
	b := blob{id: fields[2], path: name, real: real, executable: fields[0] == "100755", size: n}
	if fields[0] == "120000" {
		l.pending = append(l.pending, b)
	} else {
		l.files = append(l.files, b)
	}
	return nil
}

func readEntry(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		c, err := r.ReadByte()
		switch {
		case errors.Is(err, io.EOF) && len(line) > 0:
			return "", io.ErrUnexpectedEOF
		case err != nil:
			return "", err
		case c == 0:
			return string(line), nil
		case len(line) == maxEntryBytes:
			return "", refuse("bad_repository", "the path of a file has more than %d bytes", maxEntryBytes)
		}
		line = append(line, c)
	}
}
