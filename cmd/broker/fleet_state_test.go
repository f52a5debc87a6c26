package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
)

// Two brokers with one database go on with what the other has begun, while their key
// is replaced, and what is secret can be read nowhere.
func TestKeysAreReplacedWhileBrokersWrite(t *testing.T) {
	db, err := postgrestest.Start()
	db = postgrestest.Need(t, db, err)
	t.Cleanup(func() { db.Stop() })
	t.Setenv("DATABASE", db.Address())
	t.Setenv("ONE", strings.Repeat("01", 32))
	t.Setenv("TWO", strings.Repeat("02", 32))
	t.Setenv("TOKEN", "secret-of-ann")
	t.Setenv("BROKER_KEYRING", "off")
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	config := func(keys string) string {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"servers.json":                `{"mcpServers": {}, "broker": {"state": "${DATABASE}", "stateKey": ` + keys + `, "redact": {"personal": true}, "http": {"tokens": {"ann": "${TOKEN}"}}}}`,
			"skills/custom/rate/SKILL.md": "---\nname: rate\ndescription: Rates things. Use for rating.\n---\nRun the workflow.\n",
			"skills/custom/rate/workflow.json": `{"start": "rate", "steps": {"rate": {"prompt": "Rate.", "answer": {"type": "string"}, "next": [{"to": "again"}]},
				"again": {"prompt": "Once more.", "answer": {"type": "string"}}}}`,
		} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return filepath.Join(dir, "servers.json")
	}
	connect := func(keys string) *mcp.ClientSession {
		t.Helper()
		client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
		cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: serveHTTP(t, config(keys)), HTTPClient: &http.Client{Transport: bearing("secret-of-ann")}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cs.Close() })
		return cs
	}
	call := func(cs *mcp.ClientSession, tool string, arguments map[string]any) (text string) {
		t.Helper()
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			t.Error(err)
			return ""
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	// hide is the token of an address of which no whole is in the script.
	hide := func(cs *mcp.ClientSession, n int) string {
		var answer struct{ Result string }
		text := call(cs, "execute_code", map[string]any{"code": fmt.Sprintf("return ['planted%d', 'example.com'].join('@')", n), "timeout": 100})
		if err := json.Unmarshal([]byte(text), &answer); err != nil || !strings.HasPrefix(answer.Result, "«email:") {
			t.Errorf("%v: %s", err, text)
		}
		return answer.Result
	}
	workflow := func(cs *mcp.ClientSession, tool string, input map[string]any) (session string) {
		var answer struct{ Session, Status, Message string }
		text := call(cs, "call_skill_tool", map[string]any{"skill": "rate", "tool": tool, "input": input})
		if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Status == "error" {
			t.Errorf("%v: %s", err, text)
		}
		return answer.Session
	}

	old, next := connect(`["${ONE}", "${TWO}"]`), connect(`["${TWO}", "${ONE}"]`)
	const each = 8
	tokens, begun := make([]string, 2*each), make([]string, 2*each)
	var writers sync.WaitGroup
	started := make(chan struct{}, 2)
	for i, cs := range []*mcp.ClientSession{old, next} {
		writers.Go(func() {
			for turn := range each {
				n := i*each + turn
				tokens[n] = hide(cs, n)
				begun[n] = workflow(cs, "start", map[string]any{})
				workflow([]*mcp.ClientSession{next, old}[i], "advance", map[string]any{"session": begun[n], "answer": "planted-answer"})
				if turn == 0 {
					started <- struct{}{}
				}
			}
		})
	}
	<-started
	<-started
	rekey := []string{"store", "rekey", "--json", "--config", config(`["${TWO}", "${ONE}"]`)}
	for range 3 {
		output(t, brokerCommand(t, rekey...))
	}
	writers.Wait()
	output(t, brokerCommand(t, rekey...))

	fresh := connect(`["${TWO}"]`)
	for n := range tokens {
		if again := hide(fresh, n); again != tokens[n] {
			t.Errorf("%d: the token is %q with the new key alone, and was %q", n, again, tokens[n])
		}
		workflow(fresh, "advance", map[string]any{"session": begun[n], "answer": "planted-end"})
	}

	dump, err := db.Dump()
	if err != nil || !strings.Contains(dump, "sealed-workflows") || !strings.Contains(dump, "tokens") {
		t.Fatalf("the dump has %d bytes, %v", len(dump), err)
	}
	secrets := []string{"planted-", "planted1@", "secret-of-ann", os.Getenv("ONE"), os.Getenv("TWO")}
	check := func(where, text string) {
		for _, s := range secrets {
			for _, form := range []string{s, fmt.Sprintf("%x", s)} { // as COPY writes bytes
				if strings.Contains(text, form) {
					t.Errorf("%s has %q", where, s)
				}
			}
		}
	}
	check("the dump", dump)
	files := 0
	err = filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		check(path, string(text))
		return err
	})
	t.Logf("%d files are in the directories of brokers", files)
	if err != nil {
		t.Error(err)
	}
}
