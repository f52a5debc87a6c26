package upstream

// A roster is the configured servers. It is replaced, never edited.
type roster struct {
	servers []*server
	byName  map[string]*server
}
