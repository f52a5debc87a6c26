package host

import (
	"bytes"
	"os"
	"runtime"
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
