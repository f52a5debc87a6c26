package state

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestIDsSortByTime(t *testing.T) {
	early := NewID()
	deadline := time.Now().Add(2 * time.Millisecond)
	for time.Now().Before(deadline) {
		runtime.Gosched()
	}
	late := NewID()
	if early >= late || len(early) != 24 || !strings.HasPrefix(early, "e_") {
		t.Errorf("IDs %q, then %q", early, late)
	}
	seen := map[string]bool{}
	for range 10_000 {
		seen[NewID()] = true
	}
	if len(seen) != 10_000 {
		t.Errorf("%d different IDs of 10000", len(seen))
	}
}

func TestJSONShape(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	got, err := json.Marshal([]any{
		Execution{ID: "e_1", Status: StatusRunning, Started: at},
		Execution{ID: "e_2", Status: StatusDone, Started: at, Ended: at, Duration: 1234567},
		Call{Seq: 1, Server: "s", Tool: "t", Status: CallOK, Started: at, Duration: time.Millisecond, Args: []byte(`{"a":1}`)},
	})
	want := `[{"id":"e_1","status":"running","exit_code":0,"started":"2023-11-14T22:13:20Z","duration_ms":0,"calls":0,"bytes_in":0,"bytes_out":0},` +
		`{"id":"e_2","status":"done","exit_code":0,"started":"2023-11-14T22:13:20Z","ended":"2023-11-14T22:13:20Z","duration_ms":1.234,"calls":0,"bytes_in":0,"bytes_out":0},` +
		`{"seq":1,"server":"s","tool":"t","status":"ok","started":"2023-11-14T22:13:20Z","duration_ms":1,"arg_bytes":0,"result_bytes":0,"args":{"a":1}}]`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}
