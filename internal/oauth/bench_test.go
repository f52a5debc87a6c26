package oauth

import "testing"

// What a stored token adds to each request.
func BenchmarkTokenOfARequest(b *testing.B) {
	m := newIn(b.TempDir(), &Options{Keyring: &memory{err: ErrNoKeyring}})
	s := Server{Name: "s", URL: "https://example.com/mcp"}
	if err := m.store.save(m.store.key(s.Name, s.URL), &record{AccessToken: "t"}); err != nil {
		b.Fatal(err)
	}
	h := m.Handler(s)
	b.ReportAllocs()
	for b.Loop() {
		if source, err := h.TokenSource(b.Context()); err != nil || source == nil {
			b.Fatal(source, err)
		}
	}
}
