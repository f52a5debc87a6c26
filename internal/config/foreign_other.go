//go:build !unix

package config

import "io/fs"

// foreign returns "": the access lists of this system protect the user's folders.
func foreign(fs.FileInfo) string { return "" }
