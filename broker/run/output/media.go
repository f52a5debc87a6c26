package output

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/internal/results"
	"github.com/mcpbroker/mcpbroker/state"
)

// Media is an image or a sound that a tool returned and a script passed on.
type Media struct {
	MIMEType string
	Data     []byte
}

const (
	// MaxMedia bounds the images and sounds of one answer, and MaxMediaBytes the size of each:
	// clients refuse more.
	MaxMedia      = 8
	MaxMediaBytes = 5 << 20
)

// mediaRef matches a reference to stored media in the value of a script.
var mediaRef = lazyregexp.New(`"ref"\s*:\s*"(r_[a-z2-7]{26})"`)

// Media returns the images and sounds that value refers to, each once.
func (k *Store) Media(value json.RawMessage) []Media {
	if k.Results == nil || k.Uncut {
		return nil
	}
	var seen []string
	var all []Media
	for _, m := range mediaRef.FindAllSubmatch(value, 4*MaxMedia) {
		ref := string(m[1])
		if slices.Contains(seen, ref) || len(all) == MaxMedia {
			continue
		}
		seen = append(seen, ref)
		item, data, err := results.Get(context.Background(), k.Results, k.Owner, ref)
		if err == nil && isMedia(item.MIME) && len(data) <= MaxMediaBytes {
			all = append(all, Media{item.MIME, data})
		}
	}
	return all
}

// DescribeBinary returns a stored image as a script sees it: as in the tool's result.
func DescribeBinary(item state.Result) any {
	kind, _, _ := strings.Cut(item.MIME, "/")
	if !isMedia(item.MIME) {
		kind = "resource"
	}
	return struct {
		Type     string `json:"type"`
		MIMEType string `json:"mimeType"`
		Size     int64  `json:"size"`
		Ref      string `json:"ref"`
	}{kind, item.MIME, item.Bytes, item.Ref}
}

func isMedia(mimeType string) bool {
	return strings.HasPrefix(mimeType, "image/") || strings.HasPrefix(mimeType, "audio/")
}
