package upstream

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// markVariable is set in the environment of every server and inherited by what
// it starts, so that processes that leave the group can be found. Its value
// names the broker that owns them: process id, start time, number.
const markVariable = "MCPBROKER_UPSTREAM"

var (
	marks   atomic.Int64
	ownMark = sync.OnceValue(func() string {
		return fmt.Sprintf("%d.%s", os.Getpid(), startTime(os.Getpid()))
	})
)

func newMark() string {
	return fmt.Sprintf("%s.%d", ownMark(), marks.Add(1))
}

// ownerGone reports whether the broker that made mark no longer exists.
func ownerGone(mark string) bool {
	parts := strings.Split(mark, ".")
	if len(parts) != 3 || parts[1] == "" {
		return false
	}
	pid, err := strconv.Atoi(parts[0])
	return err == nil && startTime(pid) != parts[1]
}
