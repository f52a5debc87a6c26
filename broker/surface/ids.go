package surface

import (
	"bytes"
	"io"
	"net/http"
	"slices"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
)

// exactIDs returns a handler that makes the SDK's handler return request ids and
// progress tokens byte for byte.
func exactIDs(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, ok := readBody(w, r)
			if !ok {
				return
			}
			if marked := transport.MarkIDs(body); transport.HasMarkedIDs(marked) {
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(marked)), int64(len(marked))
			}
		}
		next.ServeHTTP(&idWriter{w}, r)
	})
}

// An idWriter restores the ids in what is written, and cuts errors of the SDK. The SDK writes whole events or whole
// messages.
type idWriter struct{ http.ResponseWriter }

// Unwrap supports http.ResponseController.
func (w *idWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *idWriter) Write(p []byte) (int, error) {
	restored := restoreEvents(shortRefusal(w.Header(), p))
	if _, err := w.ResponseWriter.Write(restored); err != nil {
		return 0, err
	}
	return len(p), nil
}

var dataPrefix = []byte("data: ")

// restoreEvents restores the ids in the data lines of events, or in a message.
func restoreEvents(p []byte) []byte {
	if !transport.HasMarkedIDs(p) {
		return p
	}
	if !bytes.Contains(p, dataPrefix) {
		return transport.RestoreIDs(p)
	}
	var out []byte
	for line := range bytes.Lines(p) {
		if message, ok := bytes.CutPrefix(line, dataPrefix); ok {
			line = slices.Concat(dataPrefix, transport.RestoreIDs(bytes.TrimRight(message, "\n")), []byte("\n"))
		}
		out = append(out, line...)
	}
	return out
}
