// Command history is an MCP server over stdio that answers questions about the
// history of one git repository. It draws on the git command, changes nothing
// and is one half of the quickstart example; ../source is the other.
//
//	history [-repo DIR]
package main

import (
	"context"
	"flag"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("history: ")
	dir := flag.String("repo", ".", "a directory inside the repository")
	flag.Parse()
	r, err := openRepo(context.Background(), *dir)
	if err != nil {
		log.Fatal(err)
	}
	if err := newServer(r).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

// newServer returns the server for one repository.
func newServer(r *repo) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "history", Title: "Git history", Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions: "The history of one git repository: commits, the files they changed, diffs, contributors.",
	})
	add(s, "list_commits", "List commits, newest first, with author, date and subject. "+
		"Narrow them by path (a file or directory, from the root of the repository) or by date.", r.listCommits)
	add(s, "changed_files", "List the files that one commit changed, with the lines added and deleted in each. "+
		"A merge is compared with its first parent.", r.changedFiles)
	add(s, "show_diff", "Show what one commit changed as a unified diff, whole or for one path.", r.showDiff)
	add(s, "list_contributors", "List who wrote the commits, those with the most commits first, "+
		"with the dates of their first and last commit.", r.listContributors)
	add(s, "file_at_commit", "Read a text file as it was in one commit.", r.fileAtCommit)
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
