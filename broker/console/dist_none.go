//go:build noconsole

package console

import (
	"embed"
	"io/fs"
)

//go:embed none
var none embed.FS

// dist replaces the console in a program that is built with the tag noconsole.
var dist fs.FS = func() fs.FS {
	sub, err := fs.Sub(none, "none")
	if err != nil {
		panic(err) // the name is a constant
	}
	return sub
}()
