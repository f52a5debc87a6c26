package main

import (
	"bytes"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

func TestRatiosOfTurns(t *testing.T) {
	const row = rowEcho
	a, b := newTable(3), newTable(3)
	a.values[row] = &[2][]float64{{1, 2, 4}, {2, 3, 4}} // 2, 1.5 and 1 times
	b.values[row] = &[2][]float64{{1, 1, 1}, {1.2, 1.1, 9}}
	if got := a.ratios(row); !slices.Equal(got, []float64{2, 1.5, 1}) {
		t.Errorf("ratios %v", got)
	}
	if got := a.above(1.25); !slices.Equal(got, []string{row}) {
		t.Errorf("above 1.25: %q", got)
	}
	a.keepBetter(b)
	if got := a.above(1.25); len(got) != 0 {
		t.Errorf("above 1.25 after the better turns: %q", got)
	}
	var out bytes.Buffer
	a.print(&out, "old", "new")
	if want := "| call_tool echo (ms) | 1 | 1.2 | 1.20 | 1.15 to 5.10 |"; !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s\nwant %s", &out, want)
	}
}

func TestProgramsAreBuiltAlike(t *testing.T) {
	build := func(pairs ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		for i := 0; i < len(pairs); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return info
	}
	static := build("CGO_ENABLED", "0", "-trimpath", "true", "vcs.revision", "1")
	for _, tt := range []struct {
		other *debug.BuildInfo
		want  string
	}{
		{build("vcs.revision", "2", "CGO_ENABLED", "0"), ""},
		{build("CGO_ENABLED", "1"), `CGO_ENABLED is "0" and "1"`},
		{build("CGO_ENABLED", "0", "-race", "true"), `-race is "" and "true"`},
		{build("GOAMD64", "v3"), `CGO_ENABLED is "0" and "", GOAMD64 is "" and "v3"`},
	} {
		if got := unlike(static, tt.other); got != tt.want {
			t.Errorf("unlike %v = %q, want %q", tt.other.Settings, got, tt.want)
		}
	}
}

func TestADirectCallDoesNotFailAComparison(t *testing.T) {
	a := newTable(1)
	a.values[rowDirect] = &[2][]float64{{1}, {2}}
	a.values[rowSize] = &[2][]float64{{1}, {1.3}}
	if got := a.above(1.25); !slices.Equal(got, []string{rowSize}) {
		t.Errorf("above 1.25: %q", got)
	}
}

func TestUpstreamAnswers(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize"}
not JSON
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":"two","method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}
{"jsonrpc":"2.0","id":4,"method":"prompts/list"}
`
	var out bytes.Buffer
	if err := upstream([]string{"1", "251"}, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(answers) != 4 {
		t.Fatalf("%d answers, want 4", len(answers))
	}
	for i, want := range []string{`"id":1`, `"id":"two"`, `"hello"`, `-32601`} {
		if !strings.Contains(answers[i], want) {
			t.Errorf("answer %d: want %s in %.200s", i, want, answers[i])
		}
	}
	if n := strings.Count(answers[1], `"inputSchema"`); n != tools {
		t.Errorf("%d tools, want %d", n, tools)
	}
	if !strings.Contains(answers[1], hit) && !strings.Contains(strings.Join(allNames(), " "), hit) {
		t.Errorf("no tool is named %s", hit)
	}
}

func allNames() []string {
	var names []string
	for server := range servers {
		for _, tool := range catalogue(server, tools) {
			names = append(names, tool.(map[string]any)["name"].(string))
		}
	}
	return names
}

func TestUpstreamRefusesOtherArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"1"}, {"1", "x"}, {"x", "1"}, {"1", "2", "3"}} {
		if err := upstream(args, strings.NewReader(""), &bytes.Buffer{}); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
