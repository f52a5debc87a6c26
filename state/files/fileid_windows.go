package files

import "io/fs"

// fileID has nothing to add: times of files are exact to 100 ns.
func fileID(fs.FileInfo) string { return "" }
