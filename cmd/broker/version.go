package main

import (
	"cmp"
	"runtime/debug"
)

// stamped is the version that release builds are linked with.
var stamped string

var version = cmp.Or(stamped, recordedVersion(debug.ReadBuildInfo()))

// recordedVersion is the version that Go recorded, which has the commit of a build
// from a clone, or the commit alone.
func recordedVersion(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "dev-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "dev"
}
