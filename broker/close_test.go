package broker

import (
	"runtime"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

// What changes while a broker is closed neither outlives it nor ends the program.
func TestCloseWhileThingsChange(t *testing.T) {
	for range 100 {
		b, err := New(Deps{Runner: inproc.New()}, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 200 {
				b.changed()
				runtime.Gosched()
			}
		}()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		<-done
		b.background.Wait()
	}
}
