package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionNamesTheCommit(t *testing.T) {
	revision := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "751588d0123456789abcdef"}}
	tests := []struct {
		main     string
		settings []debug.BuildSetting
		want     string
	}{
		{"v1.2.3", revision, "v1.2.3"},
		{"v0.0.0-20261123174410-751588d01234+dirty", revision, "v0.0.0-20261123174410-751588d01234+dirty"},
		{"(devel)", revision, "dev-751588d01234"},
		{"", revision, "dev-751588d01234"},
		{"(devel)", nil, "dev"},
	}
	for _, tt := range tests {
		info := &debug.BuildInfo{Main: debug.Module{Version: tt.main}, Settings: tt.settings}
		if got := recordedVersion(info, true); got != tt.want {
			t.Errorf("version of %q with %d settings = %q, want %q", tt.main, len(tt.settings), got, tt.want)
		}
	}
	if got := recordedVersion(nil, false); got != "dev" {
		t.Errorf("version without build info = %q, want dev", got)
	}
}
