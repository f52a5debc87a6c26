//go:build !unix

package config

import "io/fs"

// foreign knows nothing of owners here: folders are the user's by their lists of
// access.
func foreign(fs.FileInfo) string { return "" }
