package plugin

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/skills"
)

// Files of a plugin that its digest is made of, at most.
const (
	maxDigestFiles = 50_000
	maxDigestBytes = 512 << 20
)

// Digest returns a digest of everything that determines what the plugin's servers do:
// their definitions and, if one of them is a program of this host, every file of the
// plugin. It is empty without servers.
func (p *Plugin) Digest() (string, error) { return p.digestNow(false) }

// currentDigest is Digest for a decision that cannot be undone: it reads a file again
// that may have changed unnoticed.
func (p *Plugin) currentDigest() (string, error) { return p.digestNow(true) }

func (p *Plugin) digestNow(again bool) (string, error) {
	if len(p.Servers) == 0 {
		return "", nil
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return "", &Error{"missing_manifest", fmt.Sprintf("there is no folder %s", p.Dir)}
	}
	defer root.Close()
	return p.digest(root, again)
}

func (p *Plugin) digest(root *os.Root, again bool) (string, error) {
	if len(p.Servers) == 0 {
		return "", nil
	}
	h, programs := sha256.New(), false
	for _, s := range p.Servers {
		fmt.Fprintf(h, "%q %d %s\n", s.Name, len(s.written), s.written)
		programs = programs || s.program()
	}
	if programs {
		if err := hashFolder(h, root, p.Dir, again); err != nil {
			return "", &Error{"unreadable", fmt.Sprintf("the files of plugin %q cannot be read: %s", p.Name, cause(err))}
		}
	}
	return skills.Digest(h.Sum(nil)), nil
}

// program reports whether the server may be a program of this host.
func (s Server) program() bool {
	var keys map[string]json.RawMessage
	if json.Unmarshal(s.written, &keys) != nil {
		return true
	}
	for k := range keys {
		if strings.EqualFold(k, "command") {
			return true
		}
	}
	return false
}

// hashFolder adds all files below root, which is or will be dir, those of .git
// left out. Of a link, its text counts, and the file of the folder that it leads to.
func hashFolder(h hash.Hash, root *os.Root, dir string, again bool) error {
	files, bytes := 0, int64(0)
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name == ".git":
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		path, kind := filepath.FromSlash(name), "file"
		if e.Type()&fs.ModeSymlink != 0 {
			if kind, err = root.Readlink(path); err != nil {
				return err
			}
			kind = "link " + kind
		}
		info, err := root.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			fmt.Fprintf(h, "%q %q\n", name, kind) // a link that leads out, or to a folder
			return nil
		}
		files, bytes = files+1, bytes+info.Size()
		if files > maxDigestFiles || bytes > maxDigestBytes {
			return fmt.Errorf("more than %d files or %d MiB", maxDigestFiles, maxDigestBytes>>20)
		}
		sum, err := sumOf(root, dir, path, info, again)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %q %t %x\n", name, kind, info.Mode()&0o111 != 0, sum)
		return nil
	})
}

// sums remembers those of files that have not changed since, by their times and
// sizes: whoever serves looks at the same files every few seconds.
var sums sync.Map // of path to *fileSum

type fileSum struct {
	info fs.FileInfo
	sum  []byte
}

// is reports whether a file is unchanged. If again is set, an equal modification time
// is not enough, since any program can set it.
func (s *fileSum) is(info fs.FileInfo, again bool) bool {
	was, known := changeTime(s.info)
	now, _ := changeTime(info)
	return os.SameFile(s.info, info) && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) && was == now && (known || !again)
}

func sumOf(root *os.Root, dir, path string, info fs.FileInfo, again bool) ([]byte, error) {
	at := filepath.Join(dir, path)
	if was, ok := sums.Load(at); ok {
		if was := was.(*fileSum); was.is(info, again) {
			return was.sum, nil
		}
	}
	f, err := root.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxDigestBytes)); err != nil {
		return nil, err
	}
	now := &fileSum{info, h.Sum(nil)}
	if time.Since(info.ModTime()) > 2*time.Second && settled(info) { // another change might get the same time
		sums.Store(at, now)
	}
	return now.sum, nil
}

// settled reports whether the next change of a file will give it another change time.
func settled(info fs.FileInfo) bool {
	at, known := changeTime(info)
	return !known || time.Since(time.Unix(at[0], at[1])) > 2*time.Second
}
