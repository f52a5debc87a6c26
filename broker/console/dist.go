//go:build !noconsole

package console

import "embed"

// dist contains the files of the console.
//
//go:embed dist
var dist embed.FS
