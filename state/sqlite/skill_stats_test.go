package sqlite

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSkillsAreSummedUpByClient(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	note := func(minutes int, kind, name, client string, failed bool) {
		s.Note(Event{Time: at.Add(time.Duration(minutes) * time.Minute), Kind: kind, Name: name, Client: client, Failed: failed})
	}
	note(0, EventSkillActivated, "notes", "cursor", false)
	note(1, EventSkillFileRead, "notes", "cursor", true)
	note(2, EventSkillFileRead, "notes", "claude", false)
	note(3, EventSkillToolCalled, "triage", "claude", false)
	note(4, EventSkillStateChanged, "notes", "cli", false)
	note(5, EventToolsChanged, "", "", false)
	if err := s.Finish(Execution{ID: s.Begin(Execution{})}); err != nil {
		t.Fatal(err)
	}
	got, err := s.SkillStats(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	cursor := SkillUse{Activations: 1, Reads: 1, Errors: 1, LastUse: at.Add(time.Minute)}
	claude := SkillUse{Reads: 1, LastUse: at.Add(2 * time.Minute)}
	called := SkillUse{ToolCalls: 1, LastUse: at.Add(3 * time.Minute)}
	want := []SkillStats{
		{"notes", SkillUse{Activations: 1, Reads: 2, Errors: 1, LastUse: claude.LastUse}, []ClientUse{{"claude", claude}, {"cursor", cursor}}},
		{"triage", called, []ClientUse{{"claude", called}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if got, err := s.SkillStats(t.Context(), at.Add(3*time.Minute)); err != nil || len(got) != 1 || got[0].Skill != "triage" {
		t.Errorf("since the last use: %v, %v; want triage alone", got, err)
	}
}

// A record of an older broker is read by a newer one that has not written yet.
func TestOldRecordIsBroughtUpToDateToBeRead(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	for _, text := range []string{"DROP TABLE events", "CREATE TABLE events (n INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL, server TEXT NOT NULL, detail TEXT NOT NULL)",
		"INSERT INTO events (time, kind, server, detail) VALUES (1, 'tools_changed', 'a', 'x')", "PRAGMA user_version = 1"} {
		if _, err := s.conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Events(t.Context(), time.Time{}, 10)
	if err != nil || len(got) != 1 || got[0].Server != "a" {
		t.Errorf("events = %v, %v; want the old one", got, err)
	}
}
