package upstream

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// A fakeInstance records that it was stopped.
type fakeInstance struct{ stopped bool }

func (f *fakeInstance) connected() bool { return !f.stopped }
func (f *fakeInstance) retire()         { f.stopped = true }

// use uses an instance of at most two.
func use(t *testing.T, in *instances[*fakeInstance], key, version string) (*fakeInstance, func(), error) {
	t.Helper()
	return in.use(key, version, 2, func(func()) (*fakeInstance, func() bool) {
		return new(fakeInstance), func() bool { return true }
	})
}

// An instance stays until another one needs its place, it is used in another version, or
// its owner ends it.
func TestInstancesMakeRoomForEachOther(t *testing.T) {
	var in instances[*fakeInstance]
	a, leaveA, _ := use(t, &in, "x a", "1")
	b, leaveB, _ := use(t, &in, "x b", "1")
	if again, leave, err := use(t, &in, "x a", "1"); again != a || err != nil {
		t.Errorf("the same key has another instance, %v", err)
	} else {
		leave()
	}
	if _, _, err := use(t, &in, "y", "1"); err == nil {
		t.Error("an instance in use made room")
	}
	if _, idle := in.idleSince(); idle {
		t.Error("an instance in use is idle")
	}
	leaveB()
	in.byKey["x b"].used = time.Now().Add(-time.Second)
	leaveA()
	c, leaveC, err := use(t, &in, "y", "1")
	if err != nil || !b.stopped || a.stopped || in.holds("x b") || in.size() != 2 {
		t.Fatalf("%v; the least recently used stopped: %v, the other: %v", err, b.stopped, a.stopped)
	}
	newer, leaveNewer, err := use(t, &in, "x a", "2")
	if err != nil || newer == a || !a.stopped {
		t.Errorf("%v; the earlier version stopped: %v", err, a.stopped)
	}
	leaveNewer()
	in.endAll("x ")
	if !newer.stopped || c.stopped || in.running() != 1 {
		t.Errorf("the instances of x stopped: %v, others: %v", newer.stopped, c.stopped)
	}
	leaveC()
	if got := in.close(); !slices.Equal(got, []*fakeInstance{c}) {
		t.Errorf("close returns %v", got)
	}
	if _, _, err := use(t, &in, "z", "1"); !errors.Is(err, ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}
