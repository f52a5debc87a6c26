package launch

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

// markVariable is set in the environment of every server and inherited by what
// it starts, so that processes that leave the group can be found. Its value
// names the broker that owns them (pid namespace, process id, start time) and
// numbers them.
const markVariable = "MCPBROKER_SERVER"

var (
	marks   atomic.Int64
	ownMark = sync.OnceValue(func() string {
		return fmt.Sprintf("%s.%d.%s", spawn.PIDNamespace(), os.Getpid(), spawn.StartTime(os.Getpid()))
	})
)

func newMark() string {
	return fmt.Sprintf("%s.%d", ownMark(), marks.Add(1))
}

// ownerGone reports whether the broker that made mark is known to be gone. A broker in
// another container never is.
func ownerGone(mark string) bool {
	parts := strings.Split(mark, ".")
	if len(parts) != 4 || parts[0] != spawn.PIDNamespace() || parts[2] == "" {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	return err == nil && spawn.StartTime(pid) != parts[2]
}
