package state_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/state"
)

func TestLocalBus(t *testing.T) {
	var b state.LocalBus
	var heard []string
	stop := b.Subscribe(state.TopicCancel, func(name string) { heard = append(heard, name) })
	for _, topic := range []string{state.TopicCancel, state.TopicRuns} {
		if err := b.Publish(t.Context(), topic, "e_1"); err != nil {
			t.Error(err)
		}
	}
	stop()
	_ = b.Publish(t.Context(), state.TopicCancel, "e_2")
	if len(heard) != 1 || heard[0] != "e_1" || !b.Leads() {
		t.Errorf("heard %q; leads %v", heard, b.Leads())
	}
}
