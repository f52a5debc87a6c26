package skills

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// With returns the skill for work that ends with ctx: files that have to be
// fetched from a server are fetched until then. Skills of this host are not
// affected.
func (s *Skill) With(ctx context.Context) *Skill {
	if s.remote == nil {
		return s
	}
	k := *s
	k.ctx = ctx
	return &k
}

// context is that of With. A fs.FS has no other place for one.
func (s *Skill) context() context.Context {
	if s.ctx == nil {
		return context.Background()
	}
	return s.ctx
}

// Address is the URI of a skill on its server; empty for others.
func (s *Skill) Address() string {
	if s.remote == nil {
		return ""
	}
	return s.remote.entry.URI
}

// Entry is what the server has said of a skill; empty for others.
func (s *Skill) Entry() Entry {
	if s.remote == nil {
		return Entry{}
	}
	return s.remote.entry
}

// Renew asks the server for the present skill. It returns nil if it is unchanged. The
// error for a skill that is no longer for models is a *FileError.
func (s *Skill) Renew(ctx context.Context) (*Skill, error) {
	if s.remote == nil {
		return nil, nil
	}
	k, err := s.remote.source.get(ctx, s.remote.entry.URI)
	if err != nil {
		return nil, err
	}
	if maps.Equal(k.remote.files, s.remote.files) && sameJSON(k.remote.entry.Frontmatter, s.remote.entry.Frontmatter) {
		return nil, nil
	}
	k.Ref, k.State = s.Ref, s.State
	if s.visible() && !k.visible() {
		return nil, &FileError{"skill_not_found", "the skill " + quoted(s.Ref) + " is not for models any more"}
	}
	return k, nil
}

// get asks for one skill.
func (s *Source) get(ctx context.Context, uri string) (*Skill, error) {
	e, err := s.Get(ctx, uri)
	if err != nil {
		return nil, s.unavailable(err)
	}
	if e.URI != uri {
		return nil, &FileError{"invalid_skill", fmt.Sprintf("server %s was asked for the skill %s and answered with %s", quoted(s.Label), quoted(uri), quoted(e.URI))}
	}
	k, err := s.skill(e)
	if err != nil {
		return nil, &FileError{"invalid_skill", fmt.Sprintf("the skill %s of server %s is not used: %s", quoted(uri), quoted(s.Label), err)}
	}
	return k, nil
}

func (s *Source) unavailable(err error) error {
	return &FileError{CodeServer, fmt.Sprintf("server %s does not give its skill: %s", quoted(s.Label), gate.Clean(err.Error()))}
}

// read reads a file, which has to be what the entry of the skill says of it.
func (s *Skill) read(name string) ([]byte, error) {
	r := s.remote
	f, ok := r.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	data, kept := r.source.Cache.get(r.source.Label, f)
	if !kept {
		var err error
		if data, err = r.source.Read(s.context(), f.URI); err != nil {
			return nil, r.source.unavailable(err)
		}
		if int64(len(data)) != f.Size {
			return nil, s.differs(name, fmt.Sprintf("it has %d bytes, not %d", len(data), f.Size))
		}
		if sum := sha256.Sum256(data); Digest(sum[:]) != f.Digest {
			return nil, s.differs(name, "its digest is another")
		}
	}
	if name == FileName && !sameJSON(Parse(data).Frontmatter(), r.entry.Frontmatter) {
		return nil, s.differs(name, "its header is another")
	}
	if !kept {
		r.source.Cache.put(r.source.Label, f, data)
	}
	return data, nil
}

// The codes of errors about skills of servers.
const (
	// CodeVerification: a file is not what the server has listed.
	CodeVerification = "verification_failed"
	// CodeServer: the server does not answer, or with an error.
	CodeServer = "server_failed"
)

func (s *Skill) differs(name, why string) error {
	return &FileError{CodeVerification, fmt.Sprintf("%s of skill %s is not what server %s has listed: %s; it is not used. If the skill has changed, activate it again",
		quoted(name), quoted(s.Ref), quoted(s.Server), why)}
}

// A remoteFS is the files of a skill of a server. They are listed from its entry,
// and fetched when they are opened.
type remoteFS struct{ skill *Skill }

func (r remoteFS) Open(name string) (fs.File, error) {
	info, err := r.Stat(name)
	if err != nil {
		return nil, err
	}
	f := &memFile{Reader: bytes.NewReader(nil), info: info}
	if !info.IsDir() {
		data, err := r.skill.read(name)
		if err != nil {
			return nil, err
		}
		f.Reader = bytes.NewReader(data)
	}
	return f, nil
}

// Stat implements fs.StatFS.
func (r remoteFS) Stat(name string) (fs.FileInfo, error) {
	if f, ok := r.skill.remote.files[name]; ok {
		return memInfo{path.Base(name), f.Size, false}, nil
	}
	if name == "." || slices.ContainsFunc(r.skill.remote.list, func(f File) bool { return strings.HasPrefix(f.Path, name+"/") }) {
		return memInfo{path.Base(name), 0, true}, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// ReadDir implements fs.ReadDirFS.
func (r remoteFS) ReadDir(dir string) ([]fs.DirEntry, error) {
	var entries []fs.DirEntry
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	for _, f := range r.skill.remote.list { // sorted, so that those of one folder follow each other
		rest, ok := strings.CutPrefix(f.Path, prefix)
		if !ok {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		info := memInfo{name, f.Size, deeper}
		if deeper {
			info.size = 0
		}
		if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name }) {
			entries = append(entries, fs.FileInfoToDirEntry(info))
		}
	}
	if len(entries) == 0 {
		return nil, &fs.PathError{Op: "readdir", Path: dir, Err: fs.ErrNotExist}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}
