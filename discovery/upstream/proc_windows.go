package upstream

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// processAttributes keep a server from getting the console's Ctrl-C and from
// opening a window.
func processAttributes(_, _ bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// terminateGroup does nothing: Windows has no signal that asks a process
// without a window to end.
func terminateGroup(*os.Process) {}

// groupAlive is false: what outlives its parent cannot be found any more.
func groupAlive(*os.Process) bool { return false }

// killTree ends p and its descendants.
func killTree(p *os.Process, _ string) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run() // not there any more: nothing to do
	_ = p.Kill()
}

func killOrphans() {}

// finishing is false: there are no guards here.
func finishing(string) bool { return false }

// npxRuns is false: what an npx has started cannot be told.
func npxRuns(string) bool { return false }

func startTime(int) string { return "" }

func pidNamespace() string { return "" }
