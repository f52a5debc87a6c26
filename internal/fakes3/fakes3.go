// Package fakes3 is a server of S3 objects in memory, for tests: it implements the requests of the
// broker, and checks each like S3, except for the signature's value.
package fakes3

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxObject bounds the object of one request.
const maxObject = 64 << 20

// signed matches a signature of version 4, and captures the signed headers.
var signed = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=[^/ ]+/\d{8}/[a-z0-9-]+/s3/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=[0-9a-f]{64}$`)

// A Server contains buckets. It is safe for concurrent use.
type Server struct {
	mu      sync.Mutex
	buckets map[string]map[string][]byte
}

// New returns a server with empty buckets.
func New(buckets ...string) *Server {
	s := &Server{buckets: make(map[string]map[string][]byte)}
	for _, name := range buckets {
		s.buckets[name] = make(map[string][]byte)
	}
	return s
}

// Objects returns all objects of a bucket, by their names.
func (s *Server) Objects(bucket string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]string)
	for name, body := range s.buckets[bucket] {
		all[name] = string(body)
	}
	return all
}

// ServeHTTP answers requests whose path is /BUCKET/NAME.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxObject))
	if err != nil {
		fail(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	if code := refused(r, body); code != "" {
		fail(w, http.StatusForbidden, code)
		return
	}
	bucket, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	objects, ok := s.buckets[bucket]
	if !ok {
		fail(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	if name == "" {
		fail(w, http.StatusBadRequest, "InvalidRequest")
		return
	}
	switch r.Method {
	case http.MethodPut:
		objects[name] = body
	case http.MethodGet:
		body, ok := objects[name]
		if !ok {
			fail(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("Content-Type", "binary/octet-stream")
		_, _ = w.Write(body) // the client may be gone
	case http.MethodDelete:
		delete(objects, name)
		w.WriteHeader(http.StatusNoContent)
	default:
		fail(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

// refused returns the error code of S3 for a request that is not signed, or whose body is not the
// signed one.
func refused(r *http.Request, body []byte) string {
	match := signed.FindStringSubmatch(r.Header.Get("Authorization"))
	if match == nil {
		return "AccessDenied"
	}
	headers := strings.Split(match[1], ";")
	for _, needed := range []string{"host", "x-amz-content-sha256", "x-amz-date"} {
		if !slices.Contains(headers, needed) {
			return "AccessDenied"
		}
	}
	sum := sha256.Sum256(body)
	if r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]) {
		return "XAmzContentSHA256Mismatch"
	}
	return ""
}

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, xml.Header)
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
	}{Code: code})
}
