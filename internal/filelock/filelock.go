// Package filelock keeps processes, and goroutines of one process, from changing a file at the
// same time. All of them must use the lock.
package filelock

import (
	"context"
	"fmt"
	"os"
	"time"
)

// poll is the interval at which Lock tries a lock that is held.
const poll = 15 * time.Millisecond

// Lock takes the lock on the file at path, which it creates if necessary, and waits for
// it until ctx is done. The lock ends with unlock, and with the process. It also
// excludes other goroutines of the process. If the file is replaced or removed while it
// is locked, later callers are not excluded: use a separate file beside the protected
// data, and remove it only with that.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		unlock, ok, err := Try(path)
		if ok || err != nil {
			return unlock, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another broker that holds %s: %w", path, context.Cause(ctx))
		}
	}
}

// Try is like Lock, without waiting; ok reports whether the lock was free.
func Try(path string) (unlock func(), ok bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("lock: %w", err)
	}
	ok, err = tryLock(f)
	if ok { // unless it was removed meanwhile, so that others use another file
		it, itErr := f.Stat()
		there, thereErr := os.Stat(path)
		ok = itErr == nil && thereErr == nil && os.SameFile(it, there)
	}
	if err != nil || !ok {
		f.Close()
		if err != nil {
			err = fmt.Errorf("lock %s: %w", path, err)
		}
		return nil, false, err
	}
	return func() { f.Close() }, true, nil // closing ends the lock
}
