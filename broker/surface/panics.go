package surface

import (
	"log/slog"
	"runtime/debug"
	"sync"
)

// panics records the positions in the code that have panicked.
type panics struct {
	mu   sync.Mutex
	seen map[string]bool
}

// report logs a panic, with the stack the first time for its position.
func (p *panics) report(log *slog.Logger, where string, value any) {
	p.mu.Lock()
	first := !p.seen[where] && len(p.seen) < maxPanics
	if first {
		if p.seen == nil {
			p.seen = make(map[string]bool)
		}
		p.seen[where] = true
	}
	p.mu.Unlock()
	if !first {
		log.Error("panic", "at", where, "err", value)
		return
	}
	log.Error("panic", "at", where, "err", value, "stack", string(debug.Stack()))
}

// maxPanics bounds the positions that are logged with a stack.
const maxPanics = 100
