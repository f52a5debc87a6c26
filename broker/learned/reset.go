package learned

import (
	"context"
	"fmt"
)

// Reset removes the learned types of the tools of server, or of one tool; empty arguments match
// all. It returns their number.
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
