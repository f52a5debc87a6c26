package plugin

import "fmt"

// A Permit allows the servers of an installed plugin to start while the plugin is
// unchanged since its approval.
type Permit struct {
	Dir    string // of the plugin
	Digest string // digest of the approved plugin
}

// MayStart returns an error if the plugin has changed since its approval. It reads the
// plugin's files, except those that have not changed since the last time.
func (p Permit) MayStart() error {
	now, err := Load(p.Dir)
	if err != nil {
		return err
	}
	digest, err := now.currentDigest()
	if err != nil {
		return err
	}
	if digest != p.Digest {
		return &Error{"changed", fmt.Sprintf("plugin %q has changed since its approval: broker plugins approve %s", now.Name, now.Name)}
	}
	return nil
}
