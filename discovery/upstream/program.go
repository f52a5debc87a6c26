package upstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpbroker/mcpbroker/discovery/packages"
)

// runDirectly replaces the command of a package runner by the installed program of the
// package. If it cannot be installed, the runner starts in its own folder. An installed
// Python module runs without the working folder in the module path.
func (d *dialer) runDirectly(ctx context.Context, t *target) error {
	d.direct, d.failed = false, nil
	if t.Program == "" {
		return nil
	}
	if d.version != "" {
		c, err := d.packages.CommandAt(ctx, t.Command, d.version)
		t.Command, d.direct = c, err == nil
		return err
	}
	if d.packages != nil && d.cfg.direct() {
		d.does(ActivityInstalling)
		c, err := d.packages.ReviewedCommand(ctx, t.Command, d.cfg.Name, d.review)
		t.Command, d.direct = c, err == nil
		switch {
		case err == nil || ctx.Err() != nil:
			return nil
		case errors.Is(err, packages.ErrNotPlain):
			d.opts.Logger.Debug("start a package as it is written", "server", d.cfg.Name, "err", t.hide.InErr(err))
		default:
			d.failed = err
			d.opts.Logger.Warn("start a package as it is written", "server", d.cfg.Name, "err", t.hide.InErr(err))
		}
	}
	c, away, err := d.runners.Confine(t.Command)
	if err != nil {
		return fmt.Errorf("start a package runner: %w", err)
	}
	if away && t.Dir != "" {
		d.opts.Logger.Warn("a server does not start in its working folder: its package runner does not support that; npx, pnpm dlx and uvx do", "server", d.cfg.Name)
	}
	t.Command = c
	if d.cfg.Dir == "" || d.cfg.lent { // otherwise the code of the folder may be meant
		t.Command = packages.InstalledModule(c)
	}
	return nil
}

// mayStart asks the server's permit, directly before the start.
func (d *dialer) mayStart() error {
	if d.cfg.Permit == nil {
		return nil
	}
	if err := d.cfg.Permit.MayStart(); err != nil {
		return &dialError{err: err, hint: "review the changes, and approve it again"}
	}
	return nil
}
