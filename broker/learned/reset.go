package learned

import (
	"context"
	"fmt"
)

// Reset forgets what is known of the tools that match: those of server, or one
// of them. Empty means all. It returns how many there were.
func (s *Store) Reset(server, tool string) (int, error) {
	s.file.Lock()
	defer s.file.Unlock()
	if err := s.loadLocked(); err != nil {
		return 0, err
	}
	if err := s.types.Forget(context.Background(), server, tool); err != nil {
		return 0, fmt.Errorf("forget learned types: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for k := range s.tools {
		if (server == "" || k.Server == server) && (tool == "" || k.Tool == tool) {
			delete(s.tools, k)
			n++
		}
	}
	return n, nil
}
