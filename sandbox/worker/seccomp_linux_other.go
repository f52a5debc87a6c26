//go:build linux && !amd64 && !arm64

package worker

import (
	"runtime"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// seccomp does nothing: this platform has no table of system calls.
func seccomp() sandbox.Layer {
	return sandbox.Layer{Name: sandbox.LayerSeccomp, Detail: "there is no filter of system calls for " + runtime.GOARCH}
}
