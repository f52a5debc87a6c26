package api

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// No body makes a handler fail, and each answer is one that the document names.
func FuzzBodies(f *testing.F) {
	operations := []struct{ method, url string }{
		{"POST", "/api/skills/install"}, {"POST", "/api/plugins/install"}, {"PUT", "/api/skills/notes"}, {"PUT", "/api/plugins/sales"},
	}
	for _, body := range []string{"", "null", "[]", `{"enabled":true}`, `{"enabled":"x","y":1}`, `{"path":"../x"}`, `{"path":"/nowhere"}`, `{"path":"\u0000"}`,
		`{"offer":"a@b"}`, `{"repository":"ext::sh -c x"}`, `{"path":"/a","offer":"b"} {}`, "PK\x03\x04", "\x1f\x8b\x08"} {
		for i := range operations {
			f.Add(uint(i), "application/json", body)
		}
		f.Add(uint(0), "application/zip", body)
		f.Add(uint(1), "application/gzip", body)
	}
	f.Fuzz(func(t *testing.T, which uint, contentType, body string) {
		if strings.Contains(body, "://") || strings.Contains(body, "git@") {
			return // fetching is another package's
		}
		o := operations[which%uint(len(operations))]
		b := newBench(t)
		req := httptest.NewRequest(o.method, o.url, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+admin)
		req.Header.Set("Content-Type", contentType)
		res := httptest.NewRecorder()
		b.handler.ServeHTTP(res, req)
		if res.Code >= 500 {
			t.Errorf("%s %s with %q: %d %s", o.method, o.url, body, res.Code, res.Body)
		}
		b.doc.check(t, o.method, pattern(o.method, o.url), res)
	})
}
