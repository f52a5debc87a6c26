package transport

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// settling returns a connection that waits for handlers, the server's end of its
// output, and the function that records a handled message.
func settling(t *testing.T) (conn interface {
	Read(context.Context) (jsonrpc.Message, error)
}, server io.Writer, handled func(string)) {
	t.Helper()
	r, w := io.Pipe()
	_, in := io.Pipe()
	c := NewStdio(r, in, StdioOptions{})
	handled = c.Settle()
	opened, err := c.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = opened.Close()
		_ = w.Close()
	})
	return opened, w, handled
}

const (
	progressLine = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":1}}` + "\n"
	logLine      = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}` + "\n"
	changedLine  = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"
	answerLine   = `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
)

func TestAnswersWaitForWhatCameBefore(t *testing.T) {
	for name, c := range map[string]struct {
		lines string
		news  int           // number of messages before the answer
		waits time.Duration // if nothing is handled
	}{
		"progress":      {progressLine + answerLine, 1, settleTime},
		"a log message": {logLine + answerLine, 1, settleTime},
		"several":       {logLine + progressLine + logLine + answerLine, 3, settleTime},
		"other news":    {changedLine + answerLine, 1, 0},
		"nothing":       {answerLine, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, handles := range []bool{false, true} {
					conn, server, handled := settling(t)
					var handling sync.WaitGroup
					go func() { _, _ = io.WriteString(server, c.lines) }()
					for range c.news {
						m, err := conn.Read(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						if handles {
							handling.Go(func() {
								time.Sleep(time.Millisecond) // fake time
								handled(m.(*jsonrpc.Request).Method)
							})
						}
					}
					begun := time.Now()
					m, err := conn.Read(t.Context())
					took := time.Since(begun)
					handling.Wait()
					if _, ok := m.(*jsonrpc.Response); !ok || err != nil {
						t.Fatalf("%T, %v", m, err)
					}
					want := c.waits
					if handles && want > 0 {
						want = time.Millisecond
					}
					if took != want {
						t.Errorf("handled: %v: the answer came after %v, want %v", handles, took, want)
					}
				}
			})
		})
	}
}

func TestWhatIsNeverHandledDelaysOneAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, server, _ := settling(t)
		go func() { _, _ = io.WriteString(server, progressLine+answerLine+answerLine) }()
		begun := time.Now()
		for range 3 {
			if _, err := conn.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took != settleTime {
			t.Errorf("two answers took %v, want %v", took, settleTime)
		}
	})
}
