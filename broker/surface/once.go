package surface

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/state"
)

// A client or balancer that repeats a request without an answer sends it with the same
// key; the request is then carried out at most once. The repetition waits for the
// answer of the first one, or gets it from the store. If the broker of the first one
// ended before it answered, the request is not carried out again, since its progress is
// unknown. (The header is that of draft-ietf-httpapi-idempotency-key-header.)

const (
	// KeyHeader and KeyMeta are where a request has its key: a header over HTTP, or a
	// field of _meta.
	KeyHeader = "Idempotency-Key"
	KeyMeta   = "mcpbroker/idempotencyKey"
	// maxKey is the longest key, in bytes.
	maxKey = 256
	// keptFor is how long an answer is kept for those who ask again.
	keptFor = time.Hour
	// maxKept is the largest answer that is kept, in bytes.
	maxKept = 1 << 20
)

// A requested document is what is known of a request with a key.
type requested struct {
	// Digest is of the tool and the arguments, Execution the ID of the execution
	// that the request begins.
	Digest    string          `json:"digest"`
	Execution string          `json:"execution"`
	Answer    json.RawMessage `json:"answer,omitempty"` // nil until it is known
}

// keyOf returns the key of a request, or "".
func keyOf(req *mcp.CallToolRequest) (string, error) {
	key, _ := req.Params.GetMeta()[KeyMeta].(string)
	if key == "" && req.Extra != nil {
		key = req.Extra.Header.Get(KeyHeader)
	}
	if len(key) > maxKey {
		return "", fmt.Errorf("the idempotency key has %d bytes: use at most %d", len(key), maxKey)
	}
	return key, nil
}

func storeAnswer(ctx context.Context, docs state.Documents, name string, r requested) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return docs.SetDocument(ctx, name, b)
}

// storedAnswer answers a request that was there before.
func storedAnswer(before []byte, digest string) (*mcp.CallToolResult, error) {
	var r requested
	if err := json.Unmarshal(before, &r); err != nil {
		return nil, fmt.Errorf("read the record of the request with the same idempotency key: %w", err)
	}
	switch {
	case r.Digest != digest:
		return nil, errors.New("this idempotency key was used for a call of another tool or with other arguments: use a new key for each request")
	case r.Answer == nil:
		return nil, fmt.Errorf("lost: the broker that worked on this request ended before it answered. The request is not repeated, since its calls may have had effects: "+
			"broker audit show %s lists them. To repeat the request, use a new idempotency key", r.Execution)
	}
	res := new(mcp.CallToolResult)
	if err := json.Unmarshal(r.Answer, res); err != nil {
		return nil, fmt.Errorf("read the answer to the request with the same idempotency key: %w", err)
	}
	return res, nil
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// cleanup removes old answers now and then.
type cleanup struct {
	mu   sync.Mutex
	last time.Time
}

// removeOld removes what was kept for long enough, if that was not done lately.
func (f *cleanup) removeOld(ctx context.Context, docs state.Documents) {
	f.mu.Lock()
	due := time.Since(f.last) > keptFor/4
	if due {
		f.last = time.Now()
	}
	f.mu.Unlock()
	if !due {
		return
	}
	list, err := docs.ListDocuments(ctx, "")
	if err != nil {
		return // the next time
	}
	for _, d := range list {
		if time.Since(d.Changed) > keptFor {
			_ = docs.SetDocument(ctx, d.Name, nil) // likewise
		}
	}
}
