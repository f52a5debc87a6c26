package pack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Extensions are the names of files that are taken for archives.
var Extensions = []string{".skill", ".zip", ".tar.gz", ".tgz"}

// unpack unpacks an archive of the kind in its name.
func (w *writer) unpack(path string, size int64) error {
	name := strings.ToLower(path)
	isTar := strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".tgz")
	if !isTar && !strings.HasSuffix(name, ".skill") && !strings.HasSuffix(name, ".zip") {
		return refuse("archive_bad_extension", "only %s and folders are accepted", strings.Join(Extensions, ", "))
	}
	// What is compressed is hardly ever larger than what comes out of it.
	if limit := w.limits.Bytes + w.limits.Bytes/16; size > limit {
		return refuse("archive_too_large", "the archive has more than %d MiB", limit>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if isTar {
		return w.unpackTar(f)
	}
	return w.unpackZip(f, size)
}

const (
	// centralHeader begins each entry of the directory of a ZIP archive.
	centralHeader      = "PK\x01\x02"
	centralHeaderBytes = 46
	// maxHeaders and maxHeaderBytes bound a directory, including the directories of
	// archives among the files of a skill.
	maxHeaders     = 20_000
	maxHeaderBytes = 4 << 20
)

// checkDirectory refuses an archive with a directory that would fill the reader's
// memory. Its own count of entries may be wrong, so everything that looks like an entry
// is counted.
func checkDirectory(f io.ReaderAt, size int64) error {
	buf := make([]byte, 64<<10)
	headers, total := 0, 0
	for at := int64(0); at < size; at += int64(len(buf) - centralHeaderBytes) {
		n, err := f.ReadAt(buf, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		block := buf[:n]
		for {
			i := bytes.Index(block, []byte(centralHeader))
			if i < 0 || len(block)-i < centralHeaderBytes {
				break
			}
			h := block[i:]
			headers++
			for _, field := range []int{28, 30, 32} { // lengths of name, extra field and comment
				total += int(binary.LittleEndian.Uint16(h[field:]))
			}
			if headers > maxHeaders || total > maxHeaderBytes {
				return refuse("archive_too_many_files", "its directory has too many entries or too long names")
			}
			block = h[len(centralHeader):]
		}
	}
	return nil
}

func (w *writer) unpackZip(f io.ReaderAt, size int64) error {
	if err := checkDirectory(f, size); err != nil {
		return err
	}
	z, err := zip.NewReader(f, size)
	if err != nil {
		return refuse("archive_bad_format", "not a ZIP archive: %s", err)
	}
	for _, e := range z.File {
		if err := w.zipEntry(e); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) zipEntry(e *zip.File) error {
	mode := e.Mode()
	switch {
	case e.Flags&1 != 0:
		return refuse("archive_encrypted", "%q is encrypted", e.Name)
	case mode&fs.ModeSymlink != 0:
		return refuse("archive_symlink", "%q is a link", e.Name)
	case mode.IsDir():
		return w.folder(e.Name)
	case !mode.IsRegular():
		return refuse("archive_bad_entry", "%q is not a regular file", e.Name)
	}
	r, err := e.Open()
	if err != nil {
		return refuse("archive_bad_format", "%q cannot be unpacked: %s", e.Name, err)
	}
	defer r.Close()
	return damaged(e.Name, w.file(e.Name, mode&0o111 != 0, r))
}

// damaged makes an error of unpacking one of the archive.
func damaged(name string, err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrAlgorithm) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, tar.ErrHeader) {
		return refuse("archive_bad_format", "%q cannot be unpacked: the archive is damaged", name)
	}
	return err
}

// tarSlack is what headers and padding may add to the files of a tar archive.
const tarSlack = 4 << 10

func (w *writer) unpackTar(f io.Reader) error {
	gz, err := gzip.NewReader(f)
	if err != nil {
		return refuse("archive_bad_format", "not a gzip file: %s", err)
	}
	// Headers can be inflated too.
	limit := w.limits.Bytes + int64(w.limits.Files)*tarSlack
	counted := &io.LimitedReader{R: gz, N: limit}
	t := tar.NewReader(counted)
	for {
		e, err := t.Next()
		switch {
		case counted.N <= 0:
			return refuse("archive_too_large", "it unpacks to more than %d MiB", w.limits.Bytes>>20)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return refuse("archive_bad_format", "not a tar archive, or damaged: %s", err)
		}
		err = w.tarEntry(e, t)
		if counted.N <= 0 {
			return refuse("archive_too_large", "it unpacks to more than %d MiB", w.limits.Bytes>>20)
		}
		if err != nil {
			return damaged(e.Name, err)
		}
	}
}

func (w *writer) tarEntry(e *tar.Header, r io.Reader) error {
	switch e.Typeflag {
	case tar.TypeDir:
		return w.folder(e.Name)
	case tar.TypeReg:
		return w.file(e.Name, e.Mode&0o111 != 0, r)
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeSymlink, tar.TypeLink:
		return refuse("archive_symlink", "%q is a link", e.Name)
	}
	return refuse("archive_bad_entry", "%q is not a regular file", e.Name)
}
