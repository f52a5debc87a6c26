package pack

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const (
	maxPathBytes    = 1024
	maxSegmentBytes = 255
	maxDepth        = 32
)

// A writer puts entries into a folder and counts them.
type writer struct {
	root   *os.Root
	limits Limits
	files  int
	bytes  int64
	notes  []string // about omitted links
	// taken holds every path that was written, folded the way the least
	// discerning file system does, with whether it is a folder.
	taken map[string]bool
}

var fold = cases.Fold()

// checkName cleans the name of an entry. ok is false for what is dropped.
func (w *writer) checkName(name string, dir bool) (clean string, ok bool, err error) {
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "", false, refuse("archive_bad_entry", "an entry has a name with control characters or that is not UTF-8: %q", name)
	case strings.Contains(name, `\`), path.IsAbs(name), len(name) > 1 && name[1] == ':':
		return "", false, refuse("archive_path_escape", "the entry %q is not relative with slashes", name)
	}
	trimmed := strings.TrimSuffix(name, "/")
	for segment := range strings.SplitSeq(trimmed, "/") {
		switch {
		case segment == "..":
			return "", false, refuse("archive_path_escape", "the entry %q leads out of the archive", name)
		case segment == "" && trimmed != "", len(segment) > maxSegmentBytes:
			return "", false, refuse("archive_bad_entry", "the entry %.100q has no usable name", name)
		case segment == "__MACOSX", strings.EqualFold(segment, ".git"): // git runs what a config in it names
			return "", false, nil
		}
	}
	clean = path.Clean(trimmed)
	switch {
	case clean == ".":
		if dir {
			return "", false, nil
		}
		return "", false, refuse("archive_bad_entry", "a file has no name")
	case len(clean) > maxPathBytes, strings.Count(clean, "/") > maxDepth:
		return "", false, refuse("archive_bad_entry", "the entry %.100q… has too long a path", name)
	case path.Base(clean) == ".DS_Store":
		return "", false, nil
	case !filepath.IsLocal(filepath.FromSlash(clean)):
		return "", false, refuse("archive_path_escape", "the entry %q cannot be a file here", name)
	}
	return clean, true, nil
}

// claim notes a path and those of the folders above it.
func (w *writer) claim(clean string, dir bool) error {
	key := fold.String(norm.NFC.String(clean))
	if wasDir, there := w.taken[key]; there && (!wasDir || !dir) {
		return refuse("archive_duplicate_entry", "%q is there twice, or differs from another entry by case only", clean)
	}
	w.taken[key] = dir
	for up := path.Dir(key); up != "."; up = path.Dir(up) {
		if isDir, there := w.taken[up]; there && !isDir {
			return refuse("archive_duplicate_entry", "%q is a file and a folder", up)
		}
		w.taken[up] = true
	}
	if len(w.taken) > 3*w.limits.Files {
		return refuse("archive_too_many_files", "it holds more than %d files and folders", 3*w.limits.Files)
	}
	return nil
}

// folder makes a folder.
func (w *writer) folder(name string) error {
	clean, ok, err := w.checkName(name, true)
	if err != nil || !ok {
		return err
	}
	if err := w.claim(clean, true); err != nil {
		return err
	}
	return w.root.MkdirAll(filepath.FromSlash(clean), 0o755)
}

// file writes a file with what r holds, which is never more than the limit.
func (w *writer) file(name string, executable bool, r io.Reader) error {
	clean, ok, err := w.checkName(name, false)
	if err != nil || !ok {
		return err
	}
	if w.files++; w.files > w.limits.Files {
		return refuse("archive_too_many_files", "it holds more than %d files", w.limits.Files)
	}
	if err := w.claim(clean, false); err != nil {
		return err
	}
	local := filepath.FromSlash(clean)
	if dir := filepath.Dir(local); dir != "." {
		if err := w.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	f, err := w.root.OpenFile(local, os.O_CREATE|os.O_EXCL|os.O_WRONLY, modeOf(executable))
	if errors.Is(err, fs.ErrExist) {
		return refuse("archive_duplicate_entry", "%q is there twice", clean)
	}
	if err != nil {
		return err
	}
	left := w.limits.Bytes - w.bytes
	n, err := io.Copy(f, io.LimitReader(r, left+1))
	w.bytes += n
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if n > left {
		return refuse("archive_too_large", "it unpacks to more than %d MiB", w.limits.Bytes>>20)
	}
	return nil
}

// modeOf is the mode that a file gets.
func modeOf(executable bool) fs.FileMode {
	if executable {
		return 0o755
	}
	return 0o644
}
