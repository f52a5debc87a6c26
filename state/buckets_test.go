package state_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

func TestMemoryBucketsSuite(t *testing.T) {
	statetest.Buckets{Open: func(testing.TB) func() state.Buckets {
		m := &state.MemoryBuckets{}
		return func() state.Buckets { return m }
	}}.Run(t)
}

// A bucket that is full again is forgotten, one that is not stays.
func TestMemoryBucketsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &state.MemoryBuckets{}
		take := func(b state.Bucket) int {
			got, _, err := m.TakeTokens(t.Context(), b, 1)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		long := state.Bucket{Key: "long", Rate: 1e-6, Burst: 1}
		take(long)
		for i := range 5000 {
			take(state.Bucket{Key: fmt.Sprint(i), Rate: 1, Burst: 1})
			time.Sleep(10 * time.Millisecond)
		}
		if n := m.Len(); n > 1500 {
			t.Errorf("%d buckets are kept", n)
		}
		if take(long) != 0 {
			t.Error("a bucket that was empty was forgotten")
		}
	})
}
