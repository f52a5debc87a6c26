package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// upstreamArg makes this program an upstream server.
const upstreamArg = "upstream"

var (
	verbs = strings.Fields("list get create update delete search send read archive export import merge assign close open sync copy move rename count")
	nouns = strings.Fields("issue file message event invoice ticket customer branch page comment folder record report order contact metric deployment")
)

// upstream is an MCP server on stdio. Its first argument is its number, its second the
// number of its tools. The first tool is echo. It does as little work as possible.
func upstream(args []string, r io.Reader, w io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("want two arguments, got %d", len(args))
	}
	number, err1 := strconv.Atoi(args[0])
	n, err2 := strconv.Atoi(args[1])
	if err1 != nil || err2 != nil {
		return fmt.Errorf("want two numbers, got %q", args)
	}
	list, err := json.Marshal(map[string]any{"tools": catalogue(number, n)})
	if err != nil {
		return err
	}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		result, problem := `{}`, ""
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"compare","version":"1"}}`
		case "tools/list":
			result = string(list)
		case "tools/call":
			result = `{"content":[{"type":"text","text":"hello"}]}`
		case "ping":
		default:
			problem = `{"code":-32601,"message":"unknown method"}`
		}
		if problem != "" {
			_, err = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`+"\n", m.ID, problem)
		} else {
			_, err = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		}
		if err != nil {
			return err
		}
	}
}

// catalogue returns n tools of about a kilobyte each, like those of real servers.
func catalogue(server, n int) []any {
	list := []any{map[string]any{
		"name": "echo", "description": "Returns the message that it was given.", "annotations": map[string]any{"readOnlyHint": true},
		"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"message": map[string]any{"type": "string"}}, "required": []string{"message"}},
	}}
	for i := 1; i < n; i++ {
		k := server*n + i
		verb, noun, other := verbs[k%len(verbs)], nouns[k/len(verbs)%len(nouns)], nouns[k%len(nouns)]
		list = append(list, map[string]any{
			"name":        fmt.Sprintf("%s_%s_%d", verb, noun, k),
			"description": fmt.Sprintf("%s the %s of a %s. Use it when the %s has changed since the last time, or when a person asks for the %s by its name.", verb, noun, other, other, noun),
			"annotations": map[string]any{"readOnlyHint": strings.Contains("list get search read count", verb)},
			"inputSchema": map[string]any{"type": "object", "required": []string{noun + "_id"}, "properties": map[string]any{
				noun + "_id": map[string]any{"type": "string", "description": "the id of the " + noun},
				other:        map[string]any{"type": "string", "description": "the " + other + " that it belongs to"},
				"limit":      map[string]any{"type": "integer", "minimum": 1, "maximum": 100, "description": "how many are returned at most"},
				"order":      map[string]any{"type": "string", "enum": []string{"created", "updated", "name"}, "description": "what they are sorted by"},
				"filter": map[string]any{"type": "object", "properties": map[string]any{
					"state": map[string]any{"type": "string", "enum": []string{"open", "closed", "all"}},
					"since": map[string]any{"type": "string", "format": "date-time", "description": "only those that changed after this time"},
				}},
			}},
		})
	}
	return list
}
