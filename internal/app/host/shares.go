package host

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"time"
)

// DaemonVariable switches the daemon "on" or "off".
const DaemonVariable = "BROKER_DAEMON"

// SharesDaemon reports whether clients on stdio are served by one process, and
// why not if the user should know. A process that a client confines would confine
// the servers of all others, and one in CI would outlive its job.
func SharesDaemon(getenv func(string) string) (yes bool, why string) {
	for _, name := range []string{"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "SANDBOX_RUNTIME"} {
		if getenv(name) != "" {
			return false, "this process is in a sandbox: " + name + " is set"
		}
	}
	switch value := getenv(DaemonVariable); value {
	case "on":
		return true, ""
	case "off":
		return false, ""
	case "":
	default:
		return false, DaemonVariable + ` is neither "on" nor "off"`
	}
	if ci := getenv("CI"); ci != "" && ci != "false" && ci != "0" {
		return false, ""
	}
	why = confinement()
	return why == "", why
}

// confinement says why a daemon that this process starts would be confined, or
// would not live for long; "" if nothing says so.
func confinement() string {
	if os.Getpid() == 1 || os.Getppid() == 1 && runtime.GOOS == "linux" {
		return "this process is the main one of a container, or of nobody"
	}
	status, err := os.ReadFile("/proc/self/status")
	if err == nil && bytes.Contains(status, []byte("\nSeccomp:\t2\n")) {
		return "this process is in a sandbox: a seccomp filter is on; BROKER_DAEMON=on starts a daemon there"
	}
	return ""
}

// RestTime is how long nothing is written before a bridge or a daemon is at rest.
// The daemon's first answers come while it still lists servers, which is when it
// needs most memory.
const (
	RestTime       = time.Second
	DaemonRestTime = 15 * time.Second
)

// A resting writer gives memory back when nothing was written for a while: what
// lines, listings and results took, and at first what packages made at the start.
type resting struct {
	out   io.Writer
	rest  *time.Timer
	after time.Duration
}

// Write implements io.Writer.
func (r *resting) Write(p []byte) (int, error) {
	r.rest.Reset(r.after)
	return r.out.Write(p)
}
