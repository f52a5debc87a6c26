package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// startSharedFleet starts two brokers for ann and bob. The server "kept" has a process for
// each client, and "asks" waits for answers. BROKER_PROGRAM names the broker's program.
func startSharedFleet(t *testing.T) *fleet {
	t.Helper()
	config := filepath.Join(t.TempDir(), "servers.json")
	server := func(mode fakeupstream.Mode, more ...any) map[string]any {
		s := map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(mode)}
		for i := 0; i < len(more); i += 2 {
			s[more[i].(string)] = more[i+1]
		}
		return s
	}
	writeConfig(t, config, map[string]any{
		"broker": map[string]any{
			"http":   map[string]any{"tokens": map[string]string{"me": fleetToken, "ann": "secret-token-of-ann", "bob": "secret-token-of-bob"}, "adminToken": "secret-token-of-admins"},
			"policy": map[string]any{"rules": []any{map[string]any{"effect": "ask", "tools": []string{"good.echo"}}}},
		},
		"mcpServers": map[string]any{"good": server(fakeupstream.Good), "asks": server(fakeupstream.Asks), "kept": server(fakeupstream.Stateful, "instances", "client")},
	})
	return startFleetWith(t, 2, config, fleetOptions{broker: os.Getenv("BROKER_PROGRAM")})
}

// A sent request is one to a fleet, as a client makes it that follows no rules.
type sent struct {
	method, url, token, session, body string
	header                            map[string]string
}

// do sends it. The answer is "" if it is a stream without an end.
func (s sent) do(t *testing.T) (status int, answer, session string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, s.method, s.url, strings.NewReader(s.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + s.token}}
	if s.session != "" {
		req.Header.Set("Mcp-Session-Id", s.session)
	}
	for k, v := range s.header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Errorf("%s %.200s: %v", s.method, s.body, err)
		return 0, "", ""
	}
	defer resp.Body.Close()
	if s.method == http.MethodGet || strings.Contains(s.body, "subscriptions/listen") {
		return resp.StatusCode, "", resp.Header.Get("Mcp-Session-Id")
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s %.200s: %v", s.method, s.body, err)
	}
	return resp.StatusCode, string(text), resp.Header.Get("Mcp-Session-Id")
}

const (
	annToken, bobToken = "secret-token-of-ann", "secret-token-of-bob"
	// askable is an initialize of a client that can be asked, whose session one broker has.
	askable = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`
	listing = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

// at is the endpoint of a broker of f.
func (f *fleet) at(i int) string { return "http://" + f.replicas[i].addr + "/mcp" }

// alive fails if a broker of f has ended or panicked.
func (f *fleet) alive(t *testing.T) {
	t.Helper()
	for i, r := range f.replicas {
		select {
		case err := <-r.ended:
			t.Errorf("broker %d has ended: %v", i, err)
		default:
		}
		if log := r.log(); strings.Contains(log, "panic") || strings.Contains(log, "goroutine ") {
			t.Errorf("broker %d says %.3000s", i, log)
		}
	}
}

// Malformed messages that one broker passes on to another harm neither of them, nor any
// other client. BROKER_PROGRAM makes it 3,000 of them.
func TestMalformedMessagesUnderLoadThroughTheForwarder(t *testing.T) {
	t.Parallel()
	f := startSharedFleet(t)
	messages := malformed()
	if os.Getenv("BROKER_PROGRAM") == "" {
		some := messages[:0:0]
		for i := 0; i < len(messages); i += 20 {
			some = append(some, messages[i])
		}
		messages = some
	}
	status, answer, session := sent{method: "POST", url: f.at(0), token: annToken, body: askable}.do(t)
	if status != http.StatusOK || replicaOf(session) == "" {
		t.Fatalf("%d %s, session %q", status, answer, session)
	}
	var calls, failed atomic.Int64
	over := make(chan struct{})
	var clients sync.WaitGroup
	for i := range loadClients {
		o := &mcp.ClientOptions{}
		if i%2 == 0 { // its session is at one of the brokers
			o.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
		}
		cs := f.connect(t, f.url, []string{legacy, legacy, modern}[i%3], o)
		clients.Go(func() {
			for n := 0; ; n++ {
				calls.Add(1)
				if err := runs(t.Context(), cs, fmt.Sprintf("return (await good.add({a: %d, b: %d})).sum * 1000", i*10_000, n), fmt.Sprint((i*10_000+n)*1000)); err != nil {
					failed.Add(1)
					t.Errorf("client %d, call %d: %v", i, n, err)
					return
				}
				select {
				case <-over:
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	began := time.Now()
	work := make(chan string)
	var attackers sync.WaitGroup
	for range 4 {
		attackers.Go(func() {
			for m := range work {
				s := sent{method: "POST", url: f.at(1), token: annToken, session: session, body: m, header: map[string]string{}}
				if strings.Contains(m, modern) {
					s.header["Mcp-Protocol-Version"] = modern
					s.body = strings.Replace(m, `"params":{`, `"params":{"requestState":"`+replicaOf(session)+`-AAAA",`, 1)
				}
				if status, answer, _ := s.do(t); status >= 500 && status != http.StatusServiceUnavailable || strings.Contains(answer, "goroutine") {
					t.Errorf("%.200s is answered %d %.300s", m, status, answer)
				}
			}
		})
	}
	for _, m := range messages {
		work <- m
	}
	close(work)
	attackers.Wait()
	took := time.Since(began)
	close(over)
	clients.Wait()
	f.alive(t)
	if status, answer, _ := (sent{method: "POST", url: f.at(1), token: annToken, session: session, body: listing}).do(t); status != http.StatusOK && status != http.StatusNotFound || status == http.StatusOK && !strings.Contains(answer, "execute_code") {
		t.Errorf("its own session afterwards: %d %.300s", status, answer)
	}
	t.Logf("%d malformed messages in %v: %d of %d calls of %d clients failed", len(messages), took.Round(time.Millisecond), failed.Load(), calls.Load(), loadClients)
}

// replicaOf is the name of the broker in the id of a session.
func replicaOf(session string) string {
	i := strings.LastIndexByte(session, '-')
	return session[:max(i, 0)]
}

// What belongs to one owner cannot be reached by another through any broker, whatever
// headers, sessions and ids the other sends.
func TestOwnersOfAFleetAreApart(t *testing.T) {
	t.Parallel()
	f := startSharedFleet(t)
	_, _, session := sent{method: "POST", url: f.at(0), token: annToken, body: askable}.do(t)
	_, _, anywhere := sent{method: "POST", url: f.at(0), token: annToken, body: strings.Replace(askable, `"elicitation":{}`, "", 1)}.do(t)
	for i := range f.replicas {
		for method, body := range map[string]string{"POST": listing, "GET": "", "DELETE": ""} {
			for _, headers := range []map[string]string{
				nil, {"X-Forwarded-User": "ann", "X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1;by=" + replicaOf(session)},
				{"X-Broker-Passed": "1", "X-Replica": replicaOf(session), "X-Owner": "ann", "X-Remote-User": "ann", "Via": "1.1 broker"},
				{"Connection": "Authorization, Mcp-Session-Id"}, {"Connection": "keep-alive, X-Owner", "X-Owner": "ann"}, {"Cookie": "broker=ann; session=" + session},
			} {
				status, answer, _ := sent{method: method, url: f.at(i), token: bobToken, session: session, body: body, header: headers}.do(t)
				if status < 400 || status >= 500 || strings.Contains(answer, "execute_code") {
					t.Errorf("%s at broker %d for ann's session with %v: %d %.300s", method, i, headers, status, answer)
				}
			}
		}
		if status, answer, _ := (sent{method: "POST", url: f.at(i), token: annToken, session: session, body: listing}).do(t); status != http.StatusOK || !strings.Contains(answer, "execute_code") {
			t.Errorf("ann's session at broker %d: %d %.300s", i, status, answer)
		}
		// A request is forwarded once at most, and only to a broker.
		for _, odd := range []string{replicaOf(session) + "-", "-", "any-", "127.0.0.1:1-x", "../x-y", replicaOf(session) + "-" + strings.Repeat("A", 26), "http://" + f.replicas[1].peers + "-x"} {
			if status, answer, _ := (sent{method: "POST", url: f.at(i), token: bobToken, session: odd, body: strings.Replace(listing, "tools/list", "nothing/at/all", 1)}).do(t); status >= 500 {
				t.Errorf("session %q: %d %.300s", odd, status, answer)
			}
		}
	}
	ann, bob := make([]*caller, 2), make([]*caller, 2)
	for i := range 2 {
		ann[i], bob[i] = &caller{url: f.at(i), version: modern, token: annToken, client: http.DefaultClient}, &caller{url: f.at(i), version: modern, token: bobToken, client: http.DefaultClient}
	}
	run := func(c *caller, args map[string]any) (answer struct {
		ExitCode int             `json:"exit_code"`
		RunID    string          `json:"run_id"`
		Ref      string          `json:"ref"`
		Result   json.RawMessage `json:"result"`
		Stderr   string          `json:"stderr"`
	}, text string) {
		text, err := c.tool(t.Context(), "execute_code", args)
		if err != nil {
			text = strings.TrimPrefix(err.Error(), "failed: ")
		}
		_ = json.Unmarshal([]byte(text), &answer) // a refusal may be plain words
		return answer, text
	}
	// What ann keeps, and what waits for her.
	kept, text := run(ann[0], map[string]any{"code": `await store.set('k', 'of ann'); return 'annsdata'.repeat(9000)`})
	waiting, more := run(ann[0], map[string]any{"code": `return await good.echo({text: 'annsdata'})`})
	if kept.Ref == "" || waiting.RunID == "" {
		t.Fatalf("kept: %q %.500s\nwaiting: %.500s", kept.Ref, text, more)
	}
	for i := range 2 {
		if got, text := run(ann[i], map[string]any{"code": fmt.Sprintf(`return [await store.get('k'), (await results.get('%s')).length]`, kept.Ref)}); string(got.Result) != `["of ann",72000]` {
			t.Errorf("ann at broker %d has %.300s", i, text)
		}
		for _, args := range []map[string]any{
			{"code": fmt.Sprintf(`return await results.get('%s')`, kept.Ref)}, {"code": `return await store.get('k')`},
			{"resume": waiting.RunID}, {"resume": waiting.RunID, "code": "return 1"},
			{"resume": strings.ToUpper(waiting.RunID)}, {"resume": waiting.RunID + " "},
		} {
			if _, text := run(bob[i], args); strings.Contains(text, "annsdata") || strings.Contains(text, "of ann") {
				t.Errorf("bob at broker %d with %v: %.300s", i, args, text)
			} else if args["resume"] != nil && !strings.Contains(text, "unknown run") {
				t.Errorf("bob goes on with a run of ann at broker %d: %.300s", i, text)
			}
		}
	}
	f.checkKeys(t, ann, bob)
	f.checkProcesses(t, anywhere, session)
	for i := range 2 { // what only those may read that manage the broker
		base := strings.TrimSuffix(f.at(i), "/mcp")
		for _, path := range []string{"/api/runs", "/api/runs/" + waiting.RunID, "/api/approvals", "/api/results/" + kept.Ref, "/api/executions", "/api/calls", "/console/", "/metrics"} {
			status, answer, _ := sent{method: "POST", url: base + path, token: bobToken, body: `{"approve":true}`}.do(t)
			get, _, _ := sent{method: "GET", url: base + path, token: bobToken}.do(t)
			if status < 400 || strings.Contains(answer, "annsdata") || get == http.StatusOK && strings.HasPrefix(path, "/api/") {
				t.Errorf("bob at %s of broker %d: %d, %d %.300s", path, i, get, status, answer)
			}
		}
	}
	f.alive(t)
}

// checkKeys fails if a key of ann's request leads bob to her answer.
func (f *fleet) checkKeys(t *testing.T, ann, bob []*caller) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"return crypto.randomUUID()"}}}`
	answers := make(map[string]string)
	for who, token := range map[string]string{"ann": annToken, "bob": bobToken} {
		for i := range 2 {
			_, _, session := sent{method: "POST", url: f.at(i), token: token, body: strings.Replace(askable, `"elicitation":{}`, "", 1)}.do(t)
			_, answer, _ := sent{method: "POST", url: f.at(i), token: token, session: session, body: body, header: map[string]string{"Idempotency-Key": "the-same-key"}}.do(t)
			at := strings.Index(answer, `result\":\"`)
			if at < 0 {
				t.Fatalf("%s at broker %d: %.300s", who, i, answer)
			}
			id := answer[at : at+46]
			if before := answers[who]; before != "" && before != id {
				t.Errorf("%s has another answer with the same key at the other broker", who)
			}
			answers[who] = id
		}
	}
	if answers["ann"] == answers["bob"] {
		t.Error("ann and bob share an answer by its key")
	}
}

// checkProcesses fails if bob reaches a process of ann, with any session of hers.
func (f *fleet) checkProcesses(t *testing.T, anywhere, session string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"return 'pid ' + (await callMCPTool('kept', 'where', {})).split(' ')[0] + ' '"}}}`
	where := make(map[string]string) // whose a process is
	for i := range 2 {
		for _, c := range []struct{ who, token, session string }{
			{"ann", annToken, anywhere}, {"ann", annToken, session}, {"bob", bobToken, anywhere}, {"bob", bobToken, session}, {"ann", annToken, "any-mine"}, {"bob", bobToken, "any-mine"},
		} {
			_, answer, _ := sent{method: "POST", url: f.at(i), token: c.token, session: c.session, body: body}.do(t)
			_, rest, ok := strings.Cut(answer, "pid ")
			if !ok {
				if c.who == "ann" || c.session != session {
					t.Errorf("%s at broker %d in %s: %.300s", c.who, i, c.session, answer)
				}
				continue
			}
			pid, _, _ := strings.Cut(rest, " ")
			if was := where[pid]; was != "" && was != c.who {
				t.Errorf("%s reaches the process of %s at broker %d in session %s", c.who, was, i, c.session)
			}
			where[pid] = c.who
		}
	}
	if len(where) < 4 {
		t.Errorf("processes %v, want one of each owner at each broker", where)
	}
}

// Nobody but a broker of the fleet speaks to the address at which they reach each other.
func TestStrangersAtTheAddressOfAFleet(t *testing.T) {
	t.Parallel()
	f := startSharedFleet(t)
	_, _, session := sent{method: "POST", url: f.at(0), token: annToken, body: askable}.do(t)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: replicaOf(session)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	foreign := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
	// The certificate of a broker is seen by all that connect; its key is not.
	conn, err := tls.Dial("tcp", f.replicas[0].peers, &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{foreign}})
	var stolen tls.Certificate
	if err == nil {
		stolen = tls.Certificate{Certificate: [][]byte{conn.ConnectionState().PeerCertificates[0].Raw}, PrivateKey: private}
		_ = conn.Close()
	}
	for name, config := range map[string]*tls.Config{
		"no certificate": {}, "a foreign certificate": {Certificates: []tls.Certificate{foreign}}, "TLS 1.2": {MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{foreign}},
		"the certificate of the other, with another key": {GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &stolen, nil }},
	} {
		config.InsecureSkipVerify = true
		for _, path := range []string{"/mcp", "/", "/readyz", "/api/runs"} {
			c := &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: 10 * time.Second}
			req, _ := http.NewRequestWithContext(t.Context(), "POST", "https://"+f.replicas[0].peers+path, strings.NewReader(listing))
			req.Header.Set("Authorization", "Bearer "+annToken)
			req.Header.Set("Mcp-Session-Id", session)
			if resp, err := c.Do(req); err == nil {
				_ = resp.Body.Close()
				t.Errorf("%s: %s is answered: %s", name, path, resp.Status)
			}
			c.CloseIdleConnections()
		}
	}
	for i := range 2 { // large bodies of clients, passed on or not
		for size, want := range map[int]int{1 << 20: 400, 64 << 20: 413} {
			if status, answer, _ := (sent{method: "POST", url: f.at(i), token: annToken, session: session, body: `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", size)}).do(t); status != want {
				t.Errorf("a body of %d bytes at broker %d: %d %.200s", size, i, status, answer)
			}
		}
		if status, answer, _ := (sent{method: "POST", url: f.at(i), token: annToken, session: session, body: listing}).do(t); status != http.StatusOK {
			t.Errorf("afterwards at broker %d: %d %.200s", i, status, answer)
		}
	}
	f.alive(t)
}
