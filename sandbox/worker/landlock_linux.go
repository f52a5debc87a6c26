package worker

import (
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// restrictFiles takes from all threads of this process the use of every file
// by name, and what else this kernel's Landlock knows: TCP from version 4,
// signals and abstract sockets of other processes from version 6.
func restrictFiles() sandbox.Layer {
	l := sandbox.Layer{Name: sandbox.LayerLandlock}
	version, err := ll.LandlockGetABIVersion()
	if err != nil || version < 1 {
		l.Detail = "this kernel has no Landlock, or it is not enabled at boot (lsm=landlock,…)"
		return l
	}
	if err := landlock.V11.BestEffort().Restrict(); err != nil {
		l.Detail = err.Error()
		return l
	}
	l.Active = true
	covers := "files"
	switch {
	case version >= 6:
		covers = "files, TCP, signals, abstract sockets"
	case version >= 4:
		covers = "files, TCP"
	}
	l.Detail = fmt.Sprintf("version %d: %s", version, covers)
	return l
}
