package run

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/surface"
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
	// maxMedia bounds the images and sounds of one answer, and maxMediaBytes the size of each:
	// clients refuse more.
	maxMedia      = 8
	maxMediaBytes = 5 << 20
)

// mediaRef matches a reference to stored media in the value of a script.
var mediaRef = lazyregexp.New(`"ref"\s*:\s*"(r_[a-z2-7]{26})"`)

// media returns the images and sounds that value refers to, each once.
func (k *resultStore) media(value json.RawMessage) []Media {
	if k.results == nil || k.uncut {
		return nil
	}
	var seen []string
	var all []Media
	for _, m := range mediaRef.FindAllSubmatch(value, 4*maxMedia) {
		ref := string(m[1])
		if slices.Contains(seen, ref) || len(all) == maxMedia {
			continue
		}
		seen = append(seen, ref)
		item, data, err := results.Get(context.Background(), k.results, k.owner, ref)
		if err == nil && isMedia(item.MIME) && len(data) <= maxMediaBytes {
			all = append(all, Media{item.MIME, data})
		}
	}
	return all
}

// describeBinary returns a stored image as a script sees it: as in the tool's result.
func describeBinary(item state.Result) any {
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

// result returns the answer as a result of MCP: one text block, then the media that it refers to.
func (a Answer) result() *mcp.CallToolResult {
	r := surface.JSONResult(a, a.IsError())
	for _, m := range a.Media {
		r.Content = append(r.Content, surface.MediaBlock(strings.HasPrefix(m.MIMEType, "image/"), m.MIMEType, m.Data))
	}
	return r
}
