package main

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

func TestCallsAreTalliedByTool(t *testing.T) {
	var answer broker.ExecuteAnswer
	err := json.Unmarshal([]byte(`{"tools_called":[
		{"tool":"a__x","status":"ok","ms":1,"n":1200},{"tool":"b__y","status":"error","ms":2},{"tool":"a__x","status":"ok","ms":1}]}`), &answer)
	if err != nil {
		t.Fatal(err)
	}
	calls, rows := tally(answer)
	want := []row{{"a__x", 1201}, {"b__y (error)", 1}}
	if diff := cmp.Diff(want, rows, cmp.AllowUnexported(row{})); diff != "" || calls != 1202 {
		t.Errorf("%d calls, -want +got:\n%s", calls, diff)
	}
}

func TestComma(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		if got := comma(n); got != want {
			t.Errorf("comma(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestFailedServersAreNamed(t *testing.T) {
	servers := []upstream.Status{{Name: "a"}, {Name: "b", Err: errors.New("exit status 1")}}
	if err := failed(servers); err == nil || err.Error() != "server b: exit status 1" {
		t.Errorf("failed() = %v", err)
	}
	if err := failed(servers[:1]); err != nil {
		t.Errorf("failed() of a server that works = %v", err)
	}
}
