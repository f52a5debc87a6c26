package pack

import (
	"archive/zip"
	"fmt"
	"io"
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
	if err := valid(doc); err != nil {
		return nil, err
	}
	z := zip.NewWriter(to)
	p := packer{zip: z}
	if !flat {
		p.prefix = doc.Name
	}
	if err := walkFolder(root, nil, p.file); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("pack %s: %w", doc.Name, err)
	}
	return doc, nil
}

type packer struct {
	zip    *zip.Writer
	prefix string
	files  int
	bytes  int64
}

// zipEpoch is the time of every file in an archive: the earliest that ZIP has.
var zipEpoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func (p *packer) file(name string, executable bool, f io.Reader) error {
	if p.files++; p.files > skills.MaxFiles {
		return refuse("archive_too_many_files", "the skill has more than %d files", skills.MaxFiles)
	}
	h := &zip.FileHeader{Name: path.Join(p.prefix, name), Method: zip.Deflate, Modified: zipEpoch}
	h.SetMode(modeOf(executable))
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
