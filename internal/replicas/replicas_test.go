package replicas

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbroker/mcpbroker/state"
)

// known is a state in memory.
type known struct {
	mu    sync.Mutex
	all   map[string]state.Replica
	dying map[string]int // how often they still seem to live
	gone  bool           // it does not answer
}

func (k *known) away(gone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone = gone
}

func (k *known) Join(_ context.Context, r state.Replica) (func(), error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = make(map[string]state.Replica)
	}
	k.all[r.Name] = r
	return func() { k.forget(r.Name) }, nil
}

func (k *known) forget(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, name)
}

func (k *known) Living(context.Context) (list []state.Replica, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone {
		return nil, errors.New("no answer")
	}
	for _, r := range k.all {
		list = append(list, r)
		if k.dying[r.Name] > 0 {
			if k.dying[r.Name]--; k.dying[r.Name] == 0 {
				delete(k.all, r.Name)
			}
		}
	}
	return list, nil
}

func join(t *testing.T, k *known, name string, h http.HandlerFunc) *Fleet {
	t.Helper()
	f, err := Join(t.Context(), Options{Name: name, Address: "127.0.0.1:0", State: k})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	f.Serve(h)
	return f
}

// front is the endpoint of f, where every request is for the replica b.
func front(t *testing.T, f *Fleet) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !f.Pass(w, r, "b") {
			body, _ := io.ReadAll(r.Body)
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, "nobody for %s", body)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func ask(t *testing.T, url, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url+"/mcp/p", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer x")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestRequestsArePassedOnAsTheyAre(t *testing.T) {
	k := &known{}
	a := join(t, k, "a", http.NotFound)
	next := make(chan bool)
	join(t, k, "b", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s %s\n", r.Method, r.URL.Path, r.Host, r.Header.Get("Authorization"), body)
		_ = http.NewResponseController(w).Flush()
		<-next
		fmt.Fprint(w, "end")
	})
	s := front(t, a)
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/mcp/p", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer x")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	want := fmt.Sprintf("POST /mcp/p %s Bearer x hello\n", strings.TrimPrefix(s.URL, "http://"))
	if line, err := lines.ReadString('\n'); line != want || err != nil { // before the handler has ended
		t.Errorf("the other gets %q, %v; want %q", line, err, want)
	}
	close(next)
	if rest, _ := io.ReadAll(lines); string(rest) != "end" {
		t.Errorf("then %q", rest)
	}
}

// Whoever is gone leaves the request to the one that has it, whole.
func TestReplicaThatIsGone(t *testing.T) {
	k := &known{}
	a := join(t, k, "a", http.NotFound)
	b := join(t, k, "b", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "b") })
	s := front(t, a)
	if status, answer := ask(t, s.URL, "1"); status != 200 || answer != "b" {
		t.Fatalf("%d %s", status, answer)
	}
	one := k.all["b"]
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if status, answer := ask(t, s.URL, "2"); status != 404 || answer != "nobody for 2" {
		t.Errorf("after it left: %d %s", status, answer)
	}
	k.all["b"] = one // it lives and does not answer
	if status, answer := ask(t, s.URL, "3"); status != 503 || !strings.Contains(answer, "does not answer") {
		t.Errorf("while it does not answer: %d %s", status, answer)
	}
	k.dying = map[string]int{"b": 2} // it was killed, which is not known at once
	if status, answer := ask(t, s.URL, "killed"); status != 404 || answer != "nobody for killed" {
		t.Errorf("just after it was killed: %d %s", status, answer)
	}
	join(t, k, "b", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "another b") })
	// What the one before had, the new one of its name does not have: it says so itself,
	// or the first one does when it finds out.
	ask(t, s.URL, "4")
	if status, answer := ask(t, s.URL, "5"); status != 200 || answer != "another b" {
		t.Errorf("after another came with its name: %d %s", status, answer)
	}
}

// Nobody is trusted who is not registered, whichever side it is on.
func TestStrangersAreRefused(t *testing.T) {
	k := &known{}
	a := join(t, k, "a", http.NotFound)
	b := join(t, k, "b", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "b") })
	stranger, err := newCertificate("a")
	if err != nil {
		t.Fatal(err)
	}
	for name, certificates := range map[string][]tls.Certificate{"no certificate": nil, "another one of the same name": {stranger}} {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}}
		if resp, err := c.Get("https://" + b.Address() + "/mcp"); err == nil {
			resp.Body.Close()
			t.Errorf("a client with %s is answered: %s", name, resp.Status)
		}
	}
	if resp, err := http.Get("http://" + b.Address() + "/mcp"); err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("a client without TLS is answered: %s", resp.Status)
		}
	}
	// Another process has taken the address of b.
	thief := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a stranger got a request") }))
	thief.TLS = &tls.Config{Certificates: []tls.Certificate{stranger}}
	thief.StartTLS()
	defer thief.Close()
	k.mu.Lock()
	one := k.all["b"]
	one.Address = strings.TrimPrefix(thief.URL, "https://")
	k.all["b"] = one
	k.mu.Unlock()
	if status, answer := ask(t, front(t, a).URL, ""); status != 503 {
		t.Errorf("with a stranger at its address: %d %s", status, answer)
	}
}

// A replica that has left is not trusted for long, one that lives is, also while the state
// does not answer.
func TestReplicaThatHasLeftIsRefused(t *testing.T) {
	k := &known{}
	a := join(t, k, "a", http.NotFound)
	b := join(t, k, "b", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "b") })
	get := func() error {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{a.self}}, DisableKeepAlives: true}}
		resp, err := c.Get("https://" + b.Address() + "/mcp")
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	age := func() { // as if the last look was longer ago
		b.mu.Lock()
		b.asked = b.asked.Add(-2 * trustTime)
		b.mu.Unlock()
	}
	for _, wait := range []func(){func() {}, age, func() {}} {
		if wait(); get() != nil {
			t.Error("a living replica is refused")
		}
	}
	k.away(true)
	if age(); get() != nil {
		t.Error("a replica is refused while the state does not answer")
	}
	k.away(false)
	k.forget("a")
	for range 2 {
		if age(); get() == nil {
			t.Error("a replica that has left is answered")
		}
	}
}

func TestNormalizeAddress(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.7:8081": "10.0.0.7:8081", "broker1:8081": "broker1:8081", "fd00::1:8081": "[fd00::1]:8081", "[fd00::1]:8081": "[fd00::1]:8081",
		"0.0.0.0:8081": "", "[::]:8081": "", ":8081": "", "broker1": "", "broker1:http": "", "": "",
	} {
		if got, err := NormalizeAddress(text); got != want || (err == nil) != (want != "") {
			t.Errorf("NormalizeAddress(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
}
