package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// toolPins caches the digests of tools.
type toolPins struct {
	mu      sync.Mutex
	digests map[*discovery.Tool]string
}

// maxToolPins bounds toolPins. Tools are pointers into catalogues, so the entries of a replaced
// catalogue become garbage.
const maxToolPins = 4096

// of returns the digest of the complete definition of a tool.
func (p *toolPins) of(t *discovery.Tool) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	pin, ok := p.digests[t]
	if !ok {
		pin = digestOf(t)
		if p.digests == nil || len(p.digests) >= maxToolPins {
			p.digests = make(map[*discovery.Tool]string)
		}
		p.digests[t] = pin
	}
	return pin
}

func digestOf(t *discovery.Tool) string {
	text, _ := json.Marshal(t.ListedTool) // texts, booleans and decoded JSON cannot fail
	sum := sha256.Sum256(append([]byte(t.ID+"\x00"), text...))
	return hex.EncodeToString(sum[:])
}
