package api

import (
	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// An IndexReport is what "broker index --json" prints.
type IndexReport struct {
	Servers      []IndexRow `json:"servers"`
	Tools        int        `json:"tools"`
	TokensBefore int        `json:"tokens_before"`
	TokensAfter  int        `json:"tokens_after"`
}

// StatusDisabled is the status of a disabled server of the config.
const StatusDisabled = "disabled"

type IndexRow struct {
	Name     string   `json:"name"`
	Status   string   `json:"status"`
	Tools    int      `json:"tools"`
	Tokens   int      `json:"tokens"`
	MS       int64    `json:"ms"`
	Doing    string   `json:"doing,omitempty"` // of one that is starting
	Error    string   `json:"error,omitempty"`
	Hint     string   `json:"hint,omitempty"`
	Problems []string `json:"problems,omitempty"`
	// Held is the number of the server's tools and other offers that are held back.
	Held int `json:"held,omitempty"`
}

func ReportIndex(b *broker.Broker, status []upstream.Status) (IndexReport, error) {
	r := IndexReport{Servers: []IndexRow{}}
	catalog := b.Catalog()
	for _, st := range status {
		row := IndexRow{Name: st.Name, Status: string(st.State), MS: st.Took.Milliseconds(), Doing: string(st.Doing), Hint: st.Hint}
		if st.Err != nil {
			row.Error = st.Err.Error()
		}
		if s, ok := catalog.Server(st.Name); ok {
			n, err := DefinitionTokens(s.Tools)
			if err != nil {
				return r, err
			}
			row.Tools, row.Tokens, row.Problems = len(s.Tools), n, s.Problems
			row.Held = len(s.Held)
		}
		r.Tools += row.Tools
		r.TokensBefore += row.Tokens
		r.Servers = append(r.Servers, row)
	}
	after, err := SurfaceTokens(b.Surface())
	r.TokensAfter = after
	return r, err
}
