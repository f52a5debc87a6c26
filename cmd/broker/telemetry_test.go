package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// On a loopback address only names of this machine are answered: a page in a browser
// can make its own name lead here.
func TestOwnHost(t *testing.T) {
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for _, tt := range []struct {
		listens, host string
		want          int
	}{
		{"127.0.0.1", "127.0.0.1:9464", 200},
		{"127.0.0.1", "localhost:9464", 200},
		{"::1", "[::1]:9464", 200},
		{"127.0.0.1", "evil.example:9464", 403},
		{"127.0.0.1", "localhost.evil.example", 403},
		{"10.0.0.5", "metrics.example", 200},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Host = tt.host
		ownHost(&net.TCPAddr{IP: net.ParseIP(tt.listens), Port: 9464}, next).ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("on %s, host %s: %d, want %d", tt.listens, tt.host, w.Code, tt.want)
		}
	}
}
