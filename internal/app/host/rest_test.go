package host

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestRestsWhenNothingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rests atomic.Int32
		r := &rest{time.AfterFunc(time.Second, func() { rests.Add(1) }), time.Second}
		w := r.writer(io.Discard)
		h := r.handler(http.NotFoundHandler())
		for range 5 {
			time.Sleep(900 * time.Millisecond)
			_, _ = w.Write([]byte("busy\n"))
			time.Sleep(900 * time.Millisecond)
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		}
		if n := rests.Load(); n != 0 {
			t.Errorf("rested %d times between answers", n)
		}
		time.Sleep(5 * time.Second)
		if n := rests.Load(); n != 1 {
			t.Errorf("rested %d times in 5 s of silence, want once", n)
		}
	})
}
