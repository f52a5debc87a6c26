package upstream

import (
	"context"
	"strconv"
)

// A Conversation is one client's use of the broker, from its connection to its end. It
// has its own instance of a server that is not Shared.
type Conversation struct {
	// ID differs from the IDs of all other conversations of its owner.
	ID string
	// Owner is the person or program that the client acts for; empty for the user of
	// the broker. Two owners never share an instance, unless the server is shared by
	// all.
	Owner string
	// Folders returns the folders of the project that the client works in, the main
	// one first; nil, and none, if that is not known. It is called for servers that
	// have an instance for each project.
	Folders func(ctx context.Context) []string
	// Over is done when the conversation is; nil if that is never known.
	Over context.Context
}

type conversationKey struct{}

// WithConversation returns a context for the calls of a conversation. Calls
// without one go to the instance that is shared.
func WithConversation(ctx context.Context, c *Conversation) context.Context {
	return context.WithValue(ctx, conversationKey{}, c)
}

func conversationOf(ctx context.Context) *Conversation {
	c, _ := ctx.Value(conversationKey{}).(*Conversation)
	return c
}

// owned adds the owner of c to a key.
func owned(c *Conversation, key string) string { return strconv.Quote(c.Owner) + " " + key }
