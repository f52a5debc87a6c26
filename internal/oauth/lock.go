package oauth

import (
	"context"
	"fmt"
	"os"
	"time"
)

// lockPoll is how often a lock that another broker holds is tried. It is held
// for as long as one token request takes.
const lockPoll = 15 * time.Millisecond

// lockFile takes the lock on the file at path, which is created if need be, and
// waits for it until ctx is done. The lock ends with unlock, and with the
// process. It excludes goroutines of one process from each other as well.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock tokens: %w", err)
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		got, err := tryLock(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if got {
			return func() { f.Close() }, nil // which ends the lock
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for another broker that is refreshing the token: %w", context.Cause(ctx))
		}
	}
}
