//go:build !windows

package top

import "os"

// understandEscapes does nothing: terminals do.
func understandEscapes(*os.File) (restore func()) { return func() {} }
