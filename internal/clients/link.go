package clients

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// A Link, when opened, makes a client ask its user whether to add an entry.
type Link struct {
	Client string `json:"client"` // vscode-insiders is VS Code's too
	URL    string `json:"url"`
}

// Links returns the links for an entry of this name, for the clients that support links.
func Links(name string, l Launch) ([]Link, error) {
	entry, err := json.Marshal(plainEntry(l))
	if err != nil {
		return nil, err
	}
	named, err := json.Marshal(append(entryFields{config.Field{Key: "name", Value: name}}, plainEntry(l)...))
	if err != nil {
		return nil, err
	}
	return []Link{
		{"vscode", "vscode:mcp/install?" + component(string(named))},
		{"vscode-insiders", "vscode-insiders:mcp/install?" + component(string(named))},
		{"cursor", "cursor://anysphere.cursor-deeplink/mcp/install?name=" + component(name) +
			"&config=" + component(base64.StdEncoding.EncodeToString(entry))},
	}, nil
}

// component encodes text like encodeURIComponent of JavaScript.
func component(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}
