//go:build noconsole

package console

import (
	"embed"
	"io/fs"
)

//go:embed none
var none embed.FS

// dist is what a program that is built with the tag noconsole serves instead.
var dist fs.FS = func() fs.FS {
	sub, err := fs.Sub(none, "none")
	if err != nil {
		panic(err) // the name is a constant
	}
	return sub
}()
