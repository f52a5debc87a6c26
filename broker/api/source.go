package api

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
)

// maxJSONBytes bounds a body of JSON.
const maxJSONBytes = 64 << 10

// A source is what is to be installed: a path on this machine, the name of an
// offer or a repository. Offers and repositories are for plugins.
type source struct {
	Path       string `json:"path"`
	Offer      string `json:"offer"`
	Repository string `json:"repository"`
	Ref        string `json:"ref"`
	Folder     string `json:"folder"`
	Force      bool   `json:"force"`
	// Approve allows the servers of a plugin to start.
	Approve *Approval `json:"approve"`

	upload bool // Path is of the archive that was sent
}

func mediaType(r *http.Request) string {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return r.Header.Get("Content-Type")
	}
	return t
}

// readSource reads the body of an installation: JSON that names a source, or the
// archive itself, of at most limit bytes. done removes what was written.
func readSource(r *http.Request, limit int64, plugin bool) (from source, done func(), err error) {
	done = func() {}
	switch t := mediaType(r); t {
	case "application/json":
		if err := readBody(r, &from); err != nil {
			return from, done, err
		}
		return from, done, from.check(plugin)
	case "application/zip", "application/gzip", "application/x-gzip", "application/octet-stream":
	default:
		return from, done, newProblem(http.StatusUnsupportedMediaType, "bad_content_type",
			`the body is %q: send the archive as application/zip or application/gzip, or JSON with a "path"`, t)
	}
	if text := r.URL.Query().Get("force"); text != "" {
		if from.Force, err = strconv.ParseBool(text); err != nil {
			return from, done, newProblem(http.StatusUnprocessableEntity, "bad_query", "force is %.40q: use true or false", text)
		}
	}
	if q := r.URL.Query(); q.Has("approve") {
		from.Approve = &Approval{Digest: q.Get("approve"), Servers: q["server"], Env: q["env"]}
	}
	dir, err := os.MkdirTemp("", "broker-upload-")
	if err != nil {
		return from, done, err
	}
	done = func() { os.RemoveAll(dir) }
	// An archive adds its own headers to what it holds.
	from.upload = true
	from.Path, err = saveArchive(http.MaxBytesReader(nil, r.Body, limit+limit/16), dir)
	if err != nil {
		done()
		return from, func() {}, err
	}
	return from, done, nil
}

func (s source) check(plugin bool) error {
	bad := func(text string) error {
		return newProblem(http.StatusUnprocessableEntity, "bad_body", "%s", text)
	}
	given := 0
	for _, text := range []string{s.Path, s.Offer, s.Repository} {
		if text != "" {
			given++
		}
	}
	switch {
	case !plugin && (s.Offer != "" || s.Repository != "" || s.Ref != "" || s.Folder != "" || s.Approve != nil):
		return bad(`a skill is installed from a "path", or from an archive as the body`)
	case !plugin && given == 0:
		return bad(`the body needs "path", that of an archive or a folder on the broker's machine`)
	case given != 1:
		return bad(`the body needs one of "path", "repository" and "offer"`)
	case s.Repository == "" && (s.Ref != "" || s.Folder != ""):
		return bad(`"ref" and "folder" are for a "repository"`)
	case s.Path != "" && !filepath.IsAbs(s.Path):
		return bad(`"path" is relative: give it whole, as it is on the broker's machine`)
	}
	return nil
}

// saveArchive writes an archive to a file with the extension that matches its first bytes.
func saveArchive(body io.Reader, dir string) (path string, err error) {
	head := make([]byte, 4)
	n, err := io.ReadFull(body, head)
	if err != nil && n == 0 && err == io.EOF {
		return "", newProblem(http.StatusUnprocessableEntity, "bad_body", "the body is empty: send an archive, .zip or .tar.gz")
	}
	if err != nil && err != io.ErrUnexpectedEOF {
		return "", err
	}
	head = head[:n]
	name := "upload.zip"
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		name = "upload.tar.gz"
	}
	path = filepath.Join(dir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, io.MultiReader(bytes.NewReader(head), body))
	if e := f.Close(); err == nil {
		err = e
	}
	return path, err
}
