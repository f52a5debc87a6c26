package skills

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

const (
	// DefaultReadBytes is how much of a file is read when no limit is given.
	DefaultReadBytes = 10_000
	// MaxReadBytes is the most that is read at once.
	MaxReadBytes = 1 << 20

	// MaxFiles and MaxTotalBytes bound a skill that is listed as a whole, packed
	// or installed.
	MaxFiles      = 512
	MaxTotalBytes = 16 << 20

	maxWalkDepth = 16
)

// A FileError says why a file or a skill cannot be had. Its message is made for
// a model to read: it names what is nearest, and no path of the host.
type FileError struct {
	// Code is one of path_escape, bad_path, not_found, is_directory,
	// binary_file, unreadable, too_many_files, too_large, invalid_skill,
	// skill_not_found, tool_not_found, invalid_input, server_failed,
	// verification_failed, not_local.
	Code    string
	Message string
}

func (e *FileError) Error() string { return e.Message }

// A Page is a part of a text file.
type Page struct {
	Text string `json:"text"`
	// Offset is where the text begins and NextOffset where it ends, in bytes.
	Offset     int64 `json:"offset"`
	NextOffset int64 `json:"next_offset"`
	TotalBytes int64 `json:"total_bytes"`
	// Truncated means that there is more after the page.
	Truncated bool   `json:"truncated"`
	MIMEType  string `json:"mime_type"`
}

// A File is one file of a skill.
type File struct {
	// Path is relative to the skill's folder, with slashes.
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// ReadFile reads up to limit bytes of a file of the skill from offset on; a
// limit of 0 means DefaultReadBytes. Both ends are moved back to the border of
// a character. Errors are of type *FileError.
func (s *Skill) ReadFile(name string, offset, limit int64) (*Page, error) {
	clean, err := cleanPath(name, offset, limit)
	if err != nil {
		return nil, err
	}
	files, done, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer done()
	info, err := fs.Stat(files, clean)
	if err != nil {
		return nil, s.fileError(files, clean, err)
	}
	switch {
	case info.IsDir():
		return nil, &FileError{"is_directory", quoted(clean) + " is a folder; in it: " + listing(files, clean)}
	case !info.Mode().IsRegular():
		return nil, &FileError{"unreadable", quoted(clean) + " is not a regular file"}
	}
	f, err := files.Open(clean)
	if err != nil {
		return nil, s.fileError(files, clean, err)
	}
	defer f.Close()
	if limit == 0 {
		limit = DefaultReadBytes
	}
	p, err := readPage(f, info.Size(), min(offset, info.Size()), min(limit, MaxReadBytes))
	if errors.Is(err, errBinary) {
		return nil, &FileError{"binary_file", quoted(clean) + " is not text: " + mimeOf(clean, nil) + ", " + words.Count(int(info.Size()), "byte")}
	}
	if err != nil {
		return nil, s.fileError(files, clean, err)
	}
	p.MIMEType = mimeOf(clean, []byte(p.Text))
	return p, nil
}

// cleanPath makes a path that somebody gave one of the skill's.
func cleanPath(name string, offset, limit int64) (string, error) {
	switch {
	case strings.TrimSpace(name) == "":
		return "", &FileError{"bad_path", "the path is empty: give that of a file, relative to the skill"}
	case strings.ContainsRune(name, 0) || !utf8.ValidString(name):
		return "", &FileError{"bad_path", "the path has a NUL or is not UTF-8"}
	case offset < 0 || limit < 0:
		return "", &FileError{"bad_path", "offset and limit must not be negative"}
	}
	slashed := strings.ReplaceAll(name, `\`, "/")
	clean := path.Clean(slashed)
	drive := len(clean) > 1 && clean[1] == ':'
	if path.IsAbs(clean) || drive || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", &FileError{"path_escape", "the path " + quoted(name) + " leads out of the skill: give one relative to the skill"}
	}
	return clean, nil
}

// fileError is why a file cannot be read, with the nearest files if it is not
// there.
func (s *Skill) fileError(files fs.FS, name string, err error) error {
	if e, ok := errors.AsType[*FileError](err); ok {
		return e
	}
	switch {
	case escapes(err):
		return &FileError{"path_escape", quoted(name) + " is or goes through a link that leads out of the skill"}
	case errors.Is(err, fs.ErrNotExist):
		text := "there is no file " + quoted(name) + " in skill " + quoted(s.Ref)
		var known []string
		list, _ := walk(files)
		for _, f := range list {
			known = append(known, f.Path)
		}
		return &FileError{"not_found", text + nearest.Hint(name, known, "it has", "it has none")}
	}
	return &FileError{"unreadable", quoted(name) + " cannot be read: " + cause(err)}
}

// short names a few of many.
func short(names []string) string {
	const most = 20
	switch {
	case len(names) == 0:
		return "nothing"
	case len(names) > most:
		return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(len(names)-most) + " more"
	}
	return strings.Join(names, ", ")
}

func listing(files fs.FS, dir string) string {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return "nothing that can be read"
	}
	var names []string
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	return short(names)
}

var errBinary = errors.New("binary")

// sniffBytes is how much of the beginning of a file decides whether it is text.
const sniffBytes = 8 << 10

// readPage reads a part of a file of the given size.
func readPage(f fs.File, size, offset, limit int64) (*Page, error) {
	at, ok := f.(io.ReaderAt)
	if !ok { // of a program's own file system
		data, err := io.ReadAll(io.LimitReader(f, size))
		if err != nil {
			return nil, err
		}
		at = bytes.NewReader(data)
	}
	head, err := io.ReadAll(io.NewSectionReader(at, 0, min(sniffBytes, size)))
	if err != nil {
		return nil, err
	}
	if !isText(head, int64(len(head)) < size) {
		return nil, errBinary
	}
	// The bytes before and after the page show where its characters begin.
	from := max(offset-utf8.UTFMax+1, 0)
	data, err := io.ReadAll(io.NewSectionReader(at, from, offset-from+limit+utf8.UTFMax))
	if err != nil {
		return nil, err
	}
	start := back(data, int(min(offset-from, int64(len(data)))))
	end := back(data, int(min(offset-from+limit, int64(len(data)))))
	if end <= start && start < len(data) { // a limit shorter than one character
		_, n := utf8.DecodeRune(data[start:])
		end = start + n
	}
	text := data[start:end]
	if !isText(text, false) {
		return nil, errBinary
	}
	p := &Page{Text: string(text), Offset: from + int64(start), NextOffset: from + int64(end), TotalBytes: size}
	p.Truncated = p.NextOffset < size
	return p, nil
}

// back moves an index back to the beginning of a character.
func back(data []byte, i int) int {
	for n := 0; n < utf8.UTFMax-1 && i > 0 && i < len(data) && !utf8.RuneStart(data[i]); n++ {
		i--
	}
	return i
}

// isText reports whether data is UTF-8 without NUL; cut means that its last
// character may be incomplete.
func isText(data []byte, cut bool) bool {
	if cut {
		data = data[:back(data, max(len(data)-1, 0))]
	}
	return bytes.IndexByte(data, 0) < 0 && utf8.Valid(data)
}

func mimeOf(name string, text []byte) string {
	switch ext := strings.ToLower(path.Ext(name)); ext {
	case ".md":
		return "text/markdown"
	case ".ts":
		return "text/typescript" // the system may take it for a video
	case ".py", ".sh", ".go", ".txt", ".yaml", ".yml", ".toml", ".csv":
		return "text/plain"
	default:
		if t, _, err := mime.ParseMediaType(mime.TypeByExtension(ext)); err == nil {
			return t
		}
	}
	if text == nil {
		return "application/octet-stream"
	}
	t, _, _ := mime.ParseMediaType(http.DetectContentType(text))
	return t
}

// Files lists the files of the skill, sorted by path. Folders of tools are left
// out, and links that lead out of the skill. complete is false if there are
// more than MaxFiles.
func (s *Skill) Files() (list []File, complete bool, err error) {
	files, done, err := s.Open()
	if err != nil {
		return nil, false, err
	}
	defer done()
	list, complete = walk(files)
	return list, complete, nil
}

// walk lists the files below a root, at most MaxFiles. What cannot be read is
// left out.
func walk(files fs.FS) (list []File, complete bool) {
	complete = walkFiles(files, func(name string, info fs.FileInfo) { list = append(list, File{name, info.Size()}) })
	slices.SortFunc(list, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return list, complete
}

// walkFiles calls each with the files that walk lists, in no order that is promised.
func walkFiles(files fs.FS, each func(name string, info fs.FileInfo)) (complete bool) {
	complete = true
	n := 0
	_ = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && e != nil && e.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case e.IsDir() && (skipped(e.Name()) || strings.Count(name, "/") > maxWalkDepth):
			return fs.SkipDir
		case e.IsDir() || junk(e.Name()):
			return nil
		}
		info, err := fs.Stat(files, name) // follows links, but not out of the skill
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		if n++; n > MaxFiles {
			complete = false
			return fs.SkipAll
		}
		each(name, info)
		return nil
	})
	return complete
}

// skipped names folders that hold nothing of a skill.
func skipped(name string) bool {
	return name == ".git" || name == "node_modules" || name == "__MACOSX" || strings.HasPrefix(name, TempPrefix)
}

func junk(name string) bool { return name == ".DS_Store" }

// TempPrefix begins the names of folders that are being written. They are never
// taken for skills.
const TempPrefix = ".broker-tmp-"
