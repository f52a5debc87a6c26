//go:build !windows

package top

import "os"

// understandEscapes does nothing: terminals interpret escapes.
func understandEscapes(*os.File) (restore func()) { return func() {} }
