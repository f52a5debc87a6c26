//go:build !linux && !darwin

package plugin

import "io/fs"

// changeTime reports that the change time is unknown.
func changeTime(fs.FileInfo) (at [2]int64, known bool) { return at, false }
