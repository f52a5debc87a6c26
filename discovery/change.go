package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Digest identifies what one tool said of itself, part by part, so that a
// later change can be named. It is a value and holds nothing of the texts.
type Digest struct {
	Description string `json:"description"`
	Input       string `json:"input"`
	Output      string `json:"output"`
	Annotations string `json:"annotations"`
}

// Digest returns the digest of t.
func (t *ListedTool) Digest() Digest {
	annotations, err := json.Marshal(t.Annotations)
	if err != nil {
		annotations = nil // four booleans always marshal
	}
	return Digest{
		Description: hash(t.Title + "\x00" + t.Description),
		Input:       hash(string(t.InputSchema)),
		Output:      hash(string(t.OutputSchema)),
		Annotations: hash(string(annotations)),
	}
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

// Differences names the parts in which d and other differ, in a fixed order.
func (d Digest) Differences(other Digest) []string {
	var parts []string
	for _, p := range []struct{ name, a, b string }{
		{"description", d.Description, other.Description},
		{"input schema", d.Input, other.Input},
		{"output schema", d.Output, other.Output},
		{"annotations", d.Annotations, other.Annotations},
	} {
		if p.a != p.b {
			parts = append(parts, p.name)
		}
	}
	return parts
}

// A Change says how a tool differs from when it was first seen. A tool whose
// description or schema changes under the same name may have been replaced by
// one that does something else.
type Change struct {
	Tool string `json:"tool"`
	// Parts are what changed, as Differences names them, or "added" or
	// "removed" alone.
	Parts []string `json:"parts"`
	// At is when the change was noticed.
	At time.Time `json:"at"`
}

// Changes sums changes up on one line of at most limit tools; empty if there
// are none.
func Changes(changes []Change, limit int) string {
	var texts []string
	for _, c := range changes {
		texts = append(texts, c.Tool+" ("+strings.Join(c.Parts, ", ")+")")
	}
	slices.Sort(texts)
	if len(texts) > limit {
		texts = append(texts[:limit], fmt.Sprintf("%d more", len(texts)-limit))
	}
	return strings.Join(texts, ", ")
}
