//go:build !linux

package spawn

import "os/exec"

// Start is cmd.Start: only Linux ends children with a thread of their parent.
func Start(cmd *exec.Cmd) error { return cmd.Start() }
