// Package images holds what the images of sandboxes are built from.
package images

import _ "embed"

// Python is the Dockerfile of the image in which Python runs. Its argument BASE
// is the image that it begins with.
//
//go:embed python/Dockerfile
var Python []byte
