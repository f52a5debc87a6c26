package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/catalogues"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
)

// BenchmarkFleetStart reports how long a broker takes from its start until it is
// ready, lists its tools and answers a search, with 35 servers whose listings are in
// the database alone; and as the baseline the same with a state directory that has
// them all. It reads the recorded catalogues beside the repository.
func BenchmarkFleetStart(b *testing.B) {
	servers, err := postgrestest.Start()
	servers = postgrestest.Need(b, servers, err)
	b.Cleanup(func() { servers.Stop() })
	broker, recorded := benchBroker(b), recordedServers(b)
	at := servers.Address()
	config := fleetConfig(b, recorded, at, map[string]any{})
	full := b.TempDir()
	if out, err := exec.Command(broker, "index", "--config", config, "--state-dir", full).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	run := func(b *testing.B, dir func() string) {
		var ready, list, search []time.Duration
		for b.Loop() {
			start := time.Now()
			cmd := exec.Command(broker, "serve", "--http", "127.0.0.1:0", "--config", config, "--state-dir", dir())
			url, end := startHTTP(b, cmd)
			for getStatus(strings.TrimSuffix(url, "/mcp")+"/readyz") != http.StatusOK {
				time.Sleep(time.Millisecond)
			}
			ready = append(ready, time.Since(start))
			post(b, url, "tools/list", `{}`)
			list = append(list, time.Since(start))
			if answer := post(b, url, "tools/call", `{"name":"search_tools","arguments":{"query":"create an issue"}}`); !strings.Contains(answer, "issue") {
				b.Fatalf("search: %.500s", answer)
			}
			search = append(search, time.Since(start))
			end()
		}
		for name, took := range map[string][]time.Duration{"ready": ready, "list": list, "search": search} {
			reportAs(b, name, took)
		}
	}
	b.Run("database", func(b *testing.B) { run(b, b.TempDir) })
	b.Run("directory", func(b *testing.B) { run(b, func() string { return full }) })
}

// BenchmarkFleetNews reports how long a listing that one broker keeps takes until the
// pool of another one has it; as the baseline, a query of the database.
func BenchmarkFleetNews(b *testing.B) {
	server, err := postgrestest.Start()
	server = postgrestest.Need(b, server, err)
	b.Cleanup(func() { server.Stop() })
	brokers := []*application.State{}
	for at := server.Address(); len(brokers) < 2; {
		st, err := application.OpenState(application.StateOptions{
			Dir: b.TempDir(), Config: config.Broker{State: at}, Expand: expand, Keyring: oauth.NoKeyring{}, Serve: len(brokers) == 1,
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := st.Prepare(b.Context()); err != nil {
			b.Fatal(err)
		}
		brokers = append(brokers, st)
	}
	b.Cleanup(func() { brokers[0].Close(); brokers[1].Close() })
	o := &upstream.Options{CacheDir: b.TempDir()}
	known := make(chan discovery.Listing, 100)
	o.Listings, o.Lists = brokers[1].ServerListings(), brokers[1].Lists
	o.OnListing = func(l discovery.Listing) { known <- l }
	cfg := upstream.Config{Name: "s", Command: fakeupstream.Command(), Args: fakeupstream.Args(fakeupstream.Good)}
	p := upstream.NewPool([]upstream.Config{cfg}, o)
	b.Cleanup(func() { p.Close() })
	dir := b.TempDir()
	first := upstream.NewPool([]upstream.Config{cfg}, &upstream.Options{CacheDir: dir, Listings: brokers[0].ServerListings()})
	first.Refresh(b.Context())
	first.Close()
	<-known
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		b.Fatalf("%d listings, %v", len(files), err)
	}
	listing, err := os.ReadFile(filepath.Join(dir, files[0].Name()))
	if err != nil {
		b.Fatal(err)
	}
	key := strings.TrimSuffix(files[0].Name(), ".json")
	var took, query []time.Duration
	for n := 0; b.Loop(); n++ {
		start := time.Now()
		if err := brokers[0].Listings().SetListing(b.Context(), key, []byte(strings.Replace(string(listing), `"name":"echo"`, fmt.Sprintf(`"name":"echo%d"`, n), 1))); err != nil {
			b.Fatal(err)
		}
		<-known
		took = append(took, time.Since(start))
		start = time.Now()
		if _, err := brokers[0].Listings().Listings(b.Context(), []string{"none"}); err != nil {
			b.Fatal(err)
		}
		query = append(query, time.Since(start))
	}
	reportAs(b, "known", took)
	reportAs(b, "query", query)
}

// BenchmarkFleetApproval reports how long it takes from a decision at one broker until
// another one, at which the call was asked about, has resumed the run and answers its
// result; and how much of that the resuming is.
func BenchmarkFleetApproval(b *testing.B) {
	c, program, admin := startCounter(b), benchBroker(b), "x"+fleetToken
	config := fleetConfig(b, map[string]any{"counter": map[string]any{"url": c.url}}, startDatabase(b).Address(), map[string]any{
		"policy": map[string]any{"rules": []any{map[string]any{"effect": "ask", "tools": []string{"counter.write"}}}},
		"http":   map[string]any{"tokens": map[string]string{"me": fleetToken}, "adminToken": admin},
	})
	var urls []string
	for range 2 {
		url, end := startHTTP(b, exec.Command(program, "serve", "--http", "127.0.0.1:0", "--config", config, "--state-dir", b.TempDir()))
		b.Cleanup(end)
		urls = append(urls, url)
	}
	runs, two := strings.TrimSuffix(urls[0], "/mcp")+"/api/runs/", newCaller(b, urls[1], modern)
	var all, resume []time.Duration
	for n := 1; b.Loop(); n++ {
		var asked struct {
			Run string `json:"run_id"`
		}
		answer, err := two.run(b.Context(), `await counter.write({key: "k"}); return "done"`)
		if err == nil {
			err = json.Unmarshal([]byte(answer), &asked)
		}
		var shown struct{ Calls []struct{ Digest string } }
		if err == nil {
			err = json.Unmarshal([]byte(admined(b, "GET", runs+asked.Run, admin, "")), &shown)
		}
		if err != nil || len(shown.Calls) != 1 {
			b.Fatalf("%s, %+v, %v", answer, shown, err)
		}
		start := time.Now()
		admined(b, "POST", runs+asked.Run+"/decide", admin, fmt.Sprintf(`{"approve": true, "calls": [1], "digests": [%q]}`, shown.Calls[0].Digest))
		decided := time.Now()
		answer, err = two.tool(b.Context(), "execute_code", map[string]any{"resume": asked.Run})
		if err != nil || !strings.Contains(answer, `"result":"done"`) || c.count("k") != n {
			b.Fatalf("%s, %v, after %d writes", answer, err, c.count("k"))
		}
		all, resume = append(all, time.Since(start)), append(resume, time.Since(decided))
	}
	reportAs(b, "all", all)
	reportAs(b, "resume", resume)
}

// admined is what /api answers to who may change things.
func admined(b testing.TB, method, url, token, body string) string {
	b.Helper()
	status, text := request(b, method, url, token, body)
	if status != http.StatusOK {
		b.Fatalf("%s %s: %d %s", method, url, status, text)
	}
	return text
}

// recordedServers are 35 servers that answer as real ones did.
func recordedServers(b *testing.B) map[string]any {
	recorded, _ := filepath.Glob(filepath.Join(catalogues.Recorded("catalog"), "*.json"))
	if len(recorded) == 0 {
		b.Skip("a measurement: BROKER_RECORDED names no folder with recorded catalogues")
	}
	servers := map[string]any{}
	for i := 0; len(servers) < 35; i++ {
		file, err := filepath.Abs(recorded[i%len(recorded)])
		if err != nil {
			b.Fatal(err)
		}
		if name := filepath.Base(file); name != "servers.json" && (i < len(recorded) || name != "ms365.json") {
			servers[fmt.Sprintf("%s-%d", strings.TrimSuffix(name, ".json"), i)] = map[string]any{"command": os.Args[0], "env": map[string]string{replayVariable: file}}
		}
	}
	return servers
}

// fleetConfig writes a config of brokers that share a database.
func fleetConfig(b testing.TB, servers map[string]any, at string, broker map[string]any) string {
	b.Helper()
	broker["state"] = at
	text, err := json.Marshal(map[string]any{"mcpServers": servers, "broker": broker})
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "servers.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// startHTTP starts a broker and returns its address, and what ends it.
func startHTTP(b testing.TB, cmd *exec.Cmd) (url string, end func()) {
	b.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	said := bufio.NewReader(stderr)
	for !strings.Contains(url, "serving MCP at ") {
		if url, err = said.ReadString('\n'); err != nil {
			b.Fatal(err)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	_, url, _ = strings.Cut(strings.TrimSpace(url), "serving MCP at ")
	return url, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
}

func getStatus(url string) int {
	resp, err := http.Get(url)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// post makes one request of protocol 2026-07-28, which needs no session, and returns
// its answer.
func post(b testing.TB, url, method, params string) string {
	b.Helper()
	meta := `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	params = strings.TrimSuffix(params, "}")
	if params != "{" {
		params += ","
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s"_meta":%s}}`, method, params, meta)
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method} {
		req.Header.Set(name, value)
	}
	if _, rest, ok := strings.Cut(params, `"name":"`); ok {
		name, _, _ := strings.Cut(rest, `"`)
		req.Header.Set("Mcp-Name", name)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatalf("%s: %d %s, %v", method, resp.StatusCode, text, err)
	}
	return string(text)
}
