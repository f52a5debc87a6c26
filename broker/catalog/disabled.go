package catalog

// Disabled returns the names of the servers that are configured and disabled. A profile
// has none.
func (c *Catalog) Disabled() []string {
	if c.of != nil {
		return nil
	}
	return c.opts.Load().Disabled
}
