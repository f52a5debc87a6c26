// Command source is an MCP server over stdio that answers questions about the
// files of one source tree. It reads only inside that tree, changes nothing and
// is one half of the quickstart example; ../history is the other.
//
//	source [-root DIR]
package main

import (
	"context"
	"flag"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("source: ")
	dir := flag.String("root", ".", "the top of the source tree")
	flag.Parse()
	t, err := openTree(*dir)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	if err := newServer(t).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Print(err)
	}
}

// newServer returns the server for one tree.
func newServer(t *tree) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "source", Title: "Source tree", Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions: "One source tree: its files, their lines, the functions of Go files, text search.",
	})
	add(s, "list_files", "List the files of the source tree in path order, with their sizes. "+
		"Hidden files and directories and node_modules are left out.", t.listFiles)
	add(s, "count_lines", "Count the lines of one text file: all, blank ones, and comment lines "+
		"if it is of a language that comments with // or #.", t.countLines)
	add(s, "list_functions", "List the functions and methods of one Go file with the lines where they begin and how long they are.", t.listFunctions)
	add(s, "search_text", "Search the text files for a regular expression (RE2) and list the lines that match, in path order.", t.searchText)
	add(s, "read_file", "Read one text file, whole or some of its lines.", t.readFile)
	return s
}

// add registers a tool that only reads. Its schemas come from In and Out, and
// its error becomes a tool error that the caller can read.
func add[In, Out any](s *mcp.Server, name, description string, f func(context.Context, In) (Out, error)) {
	closed := false
	mcp.AddTool(s, &mcp.Tool{
		Name:        name,
		Description: description,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed},
	}, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := f(ctx, in)
		return nil, out, err
	})
}
