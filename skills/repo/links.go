package repo

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	// maxTargetBytes bounds the text of a link.
	maxTargetBytes = 1024
	// maxOutside bounds the links that are followed out of the fetched folder, and
	// maxHops the links in a row.
	maxOutside = 64
	maxHops    = 8
)

// A link is a symbolic link to something that is fetched too.
type link struct{ path, to string }

// resolve finds the targets of the links. A link inside folder stays a link; the target
// of a link to another folder of the repository is copied in its place. Other links are
// left out with a note.
func (g *git) resolve(ctx context.Context, l *listing, commit, folder string) error {
	outside := 0
	for hop := 0; len(l.pending) > 0; hop++ {
		pending := l.pending
		l.pending = nil
		targets, err := g.targets(ctx, pending)
		if err != nil {
			return err
		}
		for i, b := range pending {
			real, why := target(b.real, targets[i])
			switch {
			case why != "":
			case path.Join(folder, b.path) == b.real && below(folder, real):
				l.links = append(l.links, link{b.path, targets[i]})
			case below(real, b.real):
				why = "leads to a folder that contains it"
			case hop == maxHops || outside == maxOutside:
				why = "is one of too many that lead out of the folder"
			default:
				outside++
				before := *l
				found, err := g.copyTarget(ctx, l, commit, b.path, real)
				if e, ok := errors.AsType[*Error](err); ok && e.Code == "repository_too_large" {
					*l = before
					why = "leads to too much content"
				} else if err != nil {
					return err
				} else if !found {
					why = "leads to nothing"
				}
			}
			if why != "" {
				l.got.leftOut(b.path, why)
			}
		}
	}
	return nil
}

// targets reads the texts of links. It returns "" for a text that is too long.
func (g *git) targets(ctx context.Context, links []blob) ([]string, error) {
	var list []string
	err := g.contents(ctx, links, func(b blob, r *bufio.Reader) error {
		var text strings.Builder
		if _, err := io.CopyN(&text, r, min(b.size, maxTargetBytes+1)); err != nil {
			return err
		}
		if b.size > maxTargetBytes {
			text.Reset()
			if _, err := io.CopyN(io.Discard, r, b.size-maxTargetBytes-1); err != nil {
				return err
			}
		}
		list = append(list, text.String())
		return nil
	})
	return list, err
}

// target returns the target of a link at a path of the repository, or the reason it is
// not followed.
func target(at, to string) (real, why string) {
	real = path.Join(path.Dir(at), to)
	switch {
	case to == "" || strings.ContainsAny(to, "\x00\\:"):
		return "", "has no usable target"
	case path.IsAbs(to) || !filepath.IsLocal(filepath.FromSlash(real)):
		return "", "leads out of the repository"
	}
	return real, ""
}

// below reports whether name is folder or in it; the folders "" and "." contain
// everything.
func below(folder, name string) bool {
	return folder == "" || folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
}

// copyTarget adds the content at real in the repository to the fetched content, at
// name, and reports whether there is any.
func (g *git) copyTarget(ctx context.Context, l *listing, commit, name, real string) (found bool, err error) {
	folder := false
	err = g.stream(ctx, "", func(r *bufio.Reader) error {
		line, err := readEntry(r)
		if err != nil { // nothing exists there, or the path goes through another link
			return ignoreEOF(err)
		}
		head, _, _ := strings.Cut(line, "\t")
		fields := strings.Fields(head)
		if len(fields) != 4 {
			return refuse("fetch_failed", "cannot parse git's list of files: %.80q", line)
		}
		found = true
		if folder = fields[0] == "040000"; folder {
			return nil
		}
		return l.add(fields, name, real)
	}, "ls-tree", "-l", "-z", "--full-tree", commit, "--", real)
	if err == nil && folder {
		err = g.listTree(ctx, l, commit, name, real)
	}
	return found, err
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// makeLinks creates the links. It leaves out a link that leads to nothing, to itself,
// or out of the folder through another link.
func makeLinks(root *os.Root, links []link, got *Fetched) error {
	var made []link
	for _, l := range links {
		local, err := placeFor(root, l.path)
		if err != nil {
			return err
		}
		if err := root.Symlink(filepath.FromSlash(l.to), local); err != nil {
			if _, there := root.Lstat(local); there == nil {
				return refuse("bad_repository", "%q occurs twice, or differs from another file only by case", l.path)
			}
			got.leftOut(l.path, "cannot be made on this system")
			continue
		}
		made = append(made, l)
	}
	for _, l := range made {
		local := filepath.FromSlash(l.path)
		if _, err := root.Stat(local); err == nil {
			continue
		}
		if err := root.Remove(local); err != nil {
			return err
		}
		got.leftOut(l.path, "leads to nothing")
	}
	return nil
}
