package broker_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/learned"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// What a few calls answered is no promise that later ones have nothing else.
func TestFieldsThatOnlyLearnedTypesLackMayBeRead(t *testing.T) {
	store := learned.New(openRecord(t), nil)
	t.Cleanup(func() { store.Close() })
	b := newBroker(t, broker.Deps{Learned: store}, broker.Settings{Typecheck: nativeCompiler(t), TypecheckStrict: true, Servers: []upstream.Config{upstreamConfig(t, "shifty")}})
	for _, code := range []string{
		"for (let i = 0; i < 4; i++) await shifty.getThing({ n: i }); return 1",
		"const thing = await shifty.getThing({ n: 1 }); return thing.assignee?.login ?? 'nobody'",
		"const thing = await shifty.getThing({ n: 1 }); return thing.owner",
	} {
		if a := execute(t, b, code); a.ExitCode != 0 {
			t.Errorf("%s\nexit code %d: %s", code, a.ExitCode, a.Stderr)
		}
	}
}
