package doctor

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// A check that is not done when doctor ends its wait is unchecked, and no failure; one
// that is done keeps its result, and those of others are printed in their order.
func TestChecksThatDoctorDoesNotWaitFor(t *testing.T) {
	for _, tt := range []struct {
		name  string
		takes time.Duration
		ok    bool // once it is done
		want  Check
	}{
		{"quick and well", time.Second, true, Check{OK: true}},
		{"quick and broken", time.Second, false, Check{}},
		{"hangs", time.Hour, false, Check{OK: true, Unchecked: true}},
		{"slow and well", 3 * time.Second, true, Check{OK: true, Unchecked: true}},
		{"slow and broken", 3 * time.Second, false, Check{OK: true, Unchecked: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				began := time.Now()
				e := &examination{t: &cli.IO{Out: &out, Err: &out}, Options: Options{Begun: began}}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer time.AfterFunc(doctorTime, func() { cancel(errNotWaited) }).Stop()
				e.lookAt(ctx, []look{
					{"slow", func(ctx context.Context) []Check {
						select {
						case <-time.After(tt.takes):
							return []Check{{Name: "slow", OK: tt.ok}}
						case <-ctx.Done():
							return []Check{{Name: "slow", Detail: context.Cause(ctx).Error()}}
						}
					}},
					{"last", now(Check{Name: "last", OK: true})},
				})
				if took := time.Since(began); took > doctorTime {
					t.Errorf("it took %s", took)
				}
				got := e.seen.Checks
				if len(got) != 2 || got[0].OK != tt.want.OK || got[0].Unchecked != tt.want.Unchecked || got[1].Name != "last" || !got[1].OK {
					t.Errorf("the checks are %+v, want %+v first", got, tt.want)
				}
				if failed := len(e.bad) > 0; failed == tt.want.OK {
					t.Errorf("failed: %v", e.bad)
				}
				if shown := strings.Contains(out.String(), "?     slow: not checked: no answer after 2 s"); shown != tt.want.Unchecked {
					t.Errorf("it prints\n%s", &out)
				}
			})
		})
	}
}

// Doctor does not start a server anew that has failed, however long ago, unless that costs
// nothing.
func TestDoctorReadsFailures(t *testing.T) {
	long := time.Now().Add(-time.Hour)
	for _, tt := range []struct {
		name string
		st   upstream.Status
		want bool
	}{
		{"never started", upstream.Status{State: upstream.StateIdle}, false},
		{"ended by a command", upstream.Status{State: upstream.StateIdle, Err: errNotWaited}, false},
		{"failed an hour ago", upstream.Status{State: upstream.StateFailed, Failures: 1, FailedAt: long, RetryAt: long.Add(time.Minute)}, true},
		{"failed just now", upstream.Status{State: upstream.StateFailed, Failures: 3, FailedAt: time.Now(), RetryAt: time.Now().Add(time.Hour)}, true},
		{"a variable was missing", upstream.Status{State: upstream.StateFailed, Failures: 2, FailedAt: long, RetryAt: long}, false},
	} {
		if got := hasFailed(tt.st); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// A server whose command or variables are missing is known to fail without a start.
func TestUnstartable(t *testing.T) {
	t.Setenv("DOCTOR_SET", "x")
	cfg := &config.Config{Servers: []config.Server{
		{Name: "fine", Command: "sh", Env: map[string]string{"A": "${DOCTOR_SET}", "B": "${DOCTOR_UNSET:-b}", "C": "${keyring:c}"}},
		{Name: "variable", Command: "sh", Args: []string{"--token", "${DOCTOR_UNSET}"}},
		{Name: "header", URL: "https://example.org/mcp", Headers: map[string]string{"Authorization": "Bearer ${env:DOCTOR_UNSET}"}},
		{Name: "remote", URL: "https://example.org/mcp"},
		{Name: "program", Command: "no-such-program-here"},
		{Name: "path", Command: "/no/such/program"},
		{Name: "named by a variable", Command: "${DOCTOR_SET}/program"},
		{Name: "package", Command: "uvx", Args: []string{"server"}},
	}}
	for name, want := range map[string]string{
		"fine": "", "variable": "not set: DOCTOR_UNSET", "header": "not set: DOCTOR_UNSET", "remote": "",
		"program": "not found in PATH", "path": "/no/such/program", "named by a variable": "", "package": "",
	} {
		if err := (&examination{Options: Options{Lookup: os.LookupEnv}}).unstartable(cfg, name); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
