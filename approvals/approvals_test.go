package approvals_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/approvals"
)

// A memory is a Text in memory.
type memory struct {
	text string
	err  error
}

func (m *memory) Read() ([]byte, error) { return []byte(m.text), m.err }
func (m *memory) String() string        { return "the memory" }
func (m *memory) Edit(edit func([]byte) ([]byte, error)) error {
	after, err := edit([]byte(m.text))
	if err == nil {
		m.text = string(after)
	}
	return errors.Join(m.err, err)
}

func TestStore(t *testing.T) {
	text := &memory{text: `{"skills":{"a":{"enabled":false}},"other":[1]}`}
	s := approvals.In(text)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	given := []approvals.Approval{
		{Kind: approvals.Plugin, Subject: "crm", Digest: "sha256:1", Servers: []string{"crm"}, Env: []string{}, By: "cli", At: at},
		{Kind: approvals.Project, Subject: "/w/.broker.json", Digest: "sha256:2", Servers: []string{"x", "y"}, At: at},
		{Kind: approvals.Script, Subject: "a", Digest: "sha256:3", By: "local:user", At: at},
		{Kind: approvals.Script, Subject: "b", Digest: "sha256:4", At: at},
		{Kind: approvals.Script, Subject: "b", Digest: "sha256:5", At: at},
	}
	for _, a := range given {
		if err := s.Approve(a); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(a.Kind, a.Subject); err != nil || !cmp.Equal(got, a) || !got.Covers(a.Digest) || got.Covers("sha256:9") {
			t.Errorf("after its approval: %+v, %v, want %+v", got, err, a)
		}
	}
	if list, err := s.List(approvals.Script); err != nil || !cmp.Equal(list, []approvals.Approval{given[2], given[4]}) {
		t.Errorf("scripts: %+v, %v", list, err)
	}
	for _, a := range []approvals.Approval{given[2], given[4], given[0], {Kind: approvals.Plugin, Subject: "unknown"}} {
		if err := s.Revoke(a.Kind, a.Subject); err != nil {
			t.Error(err)
		}
		if got, err := s.Get(a.Kind, a.Subject); err != nil || got.Digest != "" || got.Covers("") {
			t.Errorf("after its end: %+v, %v", got, err)
		}
	}
	for _, rest := range []string{`"enabled": false`, `"other": [`, `/w/.broker.json`} {
		if !strings.Contains(text.text, rest) {
			t.Errorf("%s is gone from %s", rest, text.text)
		}
	}
}

// Brokers of older versions that share a database read the digest of a script as a string, and
// the scope of a plugin as members of an object.
func TestOlderVersionsReadApprovals(t *testing.T) {
	text := &memory{}
	for _, a := range []approvals.Approval{
		{Kind: approvals.Script, Subject: "a", Digest: "sha256:1", By: "cli"},
		{Kind: approvals.Plugin, Subject: "crm", Digest: "sha256:2", Servers: []string{"x"}, Env: []string{}, By: "cli"},
		{Kind: approvals.Plugin, Subject: "mail", Digest: "sha256:3", Servers: []string{"y"}, Env: []string{"KEY"}, By: "admin"},
	} {
		if err := approvals.In(text).Approve(a); err != nil {
			t.Fatal(err)
		}
	}
	type plugin struct {
		Digest       string
		Servers, Env []string
	}
	var got struct {
		Skills  map[string]struct{ Approved string }
		Plugins map[string]struct{ Approved plugin }
	}
	if err := json.Unmarshal([]byte(text.text), &got); err != nil {
		t.Fatal(err)
	}
	if got.Skills["a"].Approved != "sha256:1" {
		t.Errorf("the script: %s", text.text)
	}
	want := map[string]struct{ Approved plugin }{"crm": {plugin{"sha256:2", []string{"x"}, []string{}}}, "mail": {plugin{"sha256:3", []string{"y"}, []string{"KEY"}}}}
	if diff := cmp.Diff(want, got.Plugins); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
}

func TestApprovalsHaveATime(t *testing.T) {
	s := approvals.In(&memory{})
	if err := s.Approve(approvals.Approval{Kind: approvals.Plugin, Subject: "p", Digest: "d"}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(approvals.Plugin, "p"); err != nil || time.Since(got.At) > time.Minute {
		t.Errorf("approved at %v, %v", got.At, err)
	}
}

func TestApprovalsOfOlderVersionsAreRead(t *testing.T) {
	s := approvals.In(&memory{text: `{
		"skills": {"group": {"approved": "sha256:1", "enabled": true}, "off": {"enabled": false},
			"again": {"approved": "sha256:4", "approval": {"digest": "sha256:3", "by": "cli"}}, "revoked": {"approval": {"digest": "sha256:3"}}},
		"plugins": {"crm": {"approved": {"digest": "sha256:2", "servers": ["crm", "mail"], "env": ["KEY"]}, "source": {"url": "u"}}, "none": {"approved": null}}}`})
	for _, want := range []approvals.Approval{
		{Kind: approvals.Script, Subject: "group", Digest: "sha256:1"},
		{Kind: approvals.Script, Subject: "off"},
		{Kind: approvals.Script, Subject: "again", Digest: "sha256:4"}, // by an older version, after a newer one
		{Kind: approvals.Script, Subject: "revoked"},
		{Kind: approvals.Plugin, Subject: "crm", Digest: "sha256:2", Servers: []string{"crm", "mail"}, Env: []string{"KEY"}},
		{Kind: approvals.Plugin, Subject: "none"},
		{Kind: approvals.Project, Subject: "/w/.broker.json"},
	} {
		got, err := s.Get(want.Kind, want.Subject)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func TestProjectsOfOlderVersionsAreRead(t *testing.T) {
	dir := t.TempDir()
	older := filepath.Join(dir, "projects.json")
	if err := os.WriteFile(older, []byte(`[{"path":"/a","digest":"1","servers":["x"],"at":"2026-01-02T03:04:05Z"},{"path":"/b","digest":"2","servers":null,"at":"2026-01-02T03:04:06Z"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := approvals.In(approvals.InDir(dir))
	list, err := s.List(approvals.Project)
	want := []approvals.Approval{
		{Kind: approvals.Project, Subject: "/a", Digest: "1", Servers: []string{"x"}, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		{Kind: approvals.Project, Subject: "/b", Digest: "2", At: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)},
	}
	if diff := cmp.Diff(want, list); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	// A revoked approval does not come back with the older file.
	if err := s.Revoke(approvals.Project, "/a"); err != nil {
		t.Fatal(err)
	}
	if list, err = s.List(approvals.Project); err != nil || !cmp.Equal(list, want[1:]) {
		t.Errorf("after /a was revoked: %+v, %v", list, err)
	}
	if _, err := os.Stat(older); err == nil {
		t.Error("the older file is still there")
	}
}

func TestNothingThatCannotBeReadIsApproved(t *testing.T) {
	for _, text := range []string{"{", `{"skills": 7}`, `{"skills": {"a": []}}`, `{"skills": {"a": {"approved": 7}}}`, `{"skills": {"a": {"approved": {"digest": 1}}}}`} {
		s := approvals.In(&memory{text: text})
		if got, err := s.Get(approvals.Script, "a"); err == nil || got.Digest != "" || !strings.Contains(err.Error(), "the memory") {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if list, err := s.List(approvals.Script); err == nil || list != nil {
			t.Errorf("%s: %+v, %v", text, list, err)
		}
	}
	s := approvals.In(&memory{err: errors.New("away")})
	if _, err := s.Get(approvals.Script, "a"); err == nil || !strings.Contains(err.Error(), "away") {
		t.Errorf("without the text: %v", err)
	}
	for _, text := range []string{"{", `[{"digest":"1"}]`, `[{"path":7,"digest":"1"}]`, `{"path":"/a"}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "projects.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := approvals.In(approvals.InDir(dir)).List(approvals.Project); err == nil || list != nil {
			t.Errorf("%s: %+v, %v", text, list, err)
		}
	}
}

func TestZeroStoreKeepsNothing(t *testing.T) {
	s := approvals.In(nil)
	if got, err := s.Get(approvals.Script, "a"); err != nil || got.Digest != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := s.Approve(approvals.Approval{Kind: approvals.Script, Subject: "a", Digest: "1"}); err == nil {
		t.Error("an approval was kept nowhere")
	}
}

func TestEditsOfAFileTakeTurns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	subjects := []string{"/a", "/b", "/c", "/d", "/e", "/f"}
	var wg sync.WaitGroup
	for _, subject := range subjects {
		wg.Go(func() { // a store each, as processes have
			if err := approvals.In(approvals.InDir(dir)).Approve(approvals.Approval{Kind: approvals.Project, Subject: subject, Digest: "1"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := approvals.In(approvals.InDir(dir)).List(approvals.Project)
	if err != nil || len(list) != len(subjects) {
		t.Errorf("%+v, %v", list, err)
	}
}
