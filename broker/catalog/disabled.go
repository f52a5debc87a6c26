package catalog

// Disabled returns the names of the disabled servers of the config. It returns nil for
// a profile.
func (c *Catalog) Disabled() []string {
	if c.parent != nil {
		return nil
	}
	return c.opts.Load().Disabled
}
