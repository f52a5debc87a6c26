package pack

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/mcpbroker/mcpbroker/skills"
)

// Write packs the skill in the folder dir into a ZIP archive, and returns what
// it says of itself. The files stand in a folder with the skill's name, or at
// the top if flat. The same files give the same bytes. A skill that Install
// would refuse is refused here with the same *Error.
func Write(to io.Writer, dir string, flat bool) (*skills.Doc, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, refuse("not_found", "there is no folder %s", dir)
	}
	defer root.Close()
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	doc := skills.Read(root, filepath.Base(abs))
	if ok, list := doc.Judge(skills.Install); !ok {
		return nil, &Error{Code: "invalid_skill", Message: "the skill is not valid: " + firstError(list), Diagnostics: list}
	}
	z := zip.NewWriter(to)
	p := packer{zip: z, root: root}
	if !flat {
		p.prefix = doc.Name
	}
	if err := fs.WalkDir(root.FS(), ".", p.entry); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("pack %s: %w", doc.Name, err)
	}
	return doc, nil
}

type packer struct {
	zip    *zip.Writer
	root   *os.Root
	prefix string
	files  int
	bytes  int64
}

// zipEpoch is the time of every file in an archive: the earliest that ZIP has.
var zipEpoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func (p *packer) entry(name string, e fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules"):
		return fs.SkipDir
	case e.IsDir() || e.Name() == ".DS_Store":
		return nil
	case e.Type()&fs.ModeSymlink != 0:
		return refuse("archive_symlink", "%s is a link, which no installer takes: put the file itself there", name)
	case !e.Type().IsRegular():
		return refuse("archive_bad_entry", "%s is no regular file", name)
	}
	if p.files++; p.files > skills.MaxFiles {
		return refuse("archive_too_many_files", "the skill has more than %d files", skills.MaxFiles)
	}
	f, err := p.root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := &zip.FileHeader{Name: path.Join(p.prefix, name), Method: zip.Deflate, Modified: zipEpoch}
	h.SetMode(0o644 | info.Mode()&0o111)
	w, err := p.zip.CreateHeader(h)
	if err != nil {
		return err
	}
	left := skills.MaxTotalBytes - p.bytes
	n, err := io.Copy(w, io.LimitReader(f, left+1))
	if p.bytes += n; n > left {
		return refuse("archive_too_large", "the skill has more than %d MiB", skills.MaxTotalBytes>>20)
	}
	return err
}
