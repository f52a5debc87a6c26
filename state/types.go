package state

import "context"

// Types keeps what was learned of the results of tools, as bytes that only
// their owner reads. It is safe for concurrent use, by several processes too:
// each change sees the one before it, and none is lost.
type Types interface {
	// Key returns the key that all users of these types share: proposed if there
	// was none.
	Key(ctx context.Context, proposed []byte) ([]byte, error)
	// All returns every row.
	All(ctx context.Context) ([]TypeRow, error)
	// Change calls f for each of tools with its current row, which has Version 0 if it
	// does not exist, and stores what f returns; nil leaves the row unchanged. It is
	// one transaction: an error of f undoes it. It returns the stored rows.
	Change(ctx context.Context, tools []ToolName, f func(TypeRow) ([]byte, error)) ([]TypeRow, error)
	// Forget removes the rows of a server, or of one of its tools; empty names
	// mean all.
	Forget(ctx context.Context, server, tool string) error
}

// A ToolName names a tool by the server's configured name and the server's own
// name of the tool.
type ToolName struct{ Server, Tool string }

// A TypeRow is what is stored of one tool. Version grows with each change.
type TypeRow struct {
	ToolName
	Version int64
	Body    []byte
}
