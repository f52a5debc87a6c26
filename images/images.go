// Package images holds what the images of sandboxes are built from.
package images

import _ "embed"

// Python is the Dockerfile of the image in which Python runs. Its argument BASE
// is the image that it begins with.
//
//go:embed python/Dockerfile
var Python []byte

// Node is the Dockerfile of the image in which Node runs, in the same way.
//
//go:embed node/Dockerfile
var Node []byte
