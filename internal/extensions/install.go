package extensions

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/skills/pack"
	"github.com/mcpbroker/mcpbroker/skills/remote"
)

// InstallHosted installs skills that a host lists, shows the progress, and prints which
// have failed.
func InstallHosted(ctx context.Context, t *cli.IO, l *library.Library, client *remote.Client, entries []remote.Entry, strict, force bool) (list []*pack.Installed, failed int) {
	list = []*pack.Installed{}
	var errs []error
	var done atomic.Int32
	stop := t.Meter(func() string {
		n := max(0, int(done.Load())-1)
		return fmt.Sprintf("%s %d of %s installed", cli.Bar(n, len(entries)), n, cli.Count(len(entries), "skill"))
	})
	defer stop()
	for _, e := range entries {
		done.Add(1)
		got, err := l.InstallSkill(ctx, library.From{Hosted: &library.Hosted{Client: client, Entry: e}, Strict: strict}, force)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: not installed: %w", e.Name, err))
			continue
		}
		list = append(list, got)
	}
	stop()
	for _, err := range errs {
		cli.Fprintf(t.Err, "%s\n", gate.Terminal(err.Error()))
	}
	return list, len(errs)
}
