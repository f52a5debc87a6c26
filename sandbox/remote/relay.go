package remote

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

const (
	// maxTraffic is how much one program may send and receive.
	maxTraffic = 8 << 30
	// maxStay is how long one program may stay, waiting for people included.
	maxStay = 2 * time.Hour
	// farewell is the time for which a stream stays open after its program has ended,
	// for the broker to read it to its end.
	farewell = 5 * time.Second
)

var (
	errGone    = errors.New("the broker has gone")
	errTraffic = fmt.Errorf("it sent or received over %d GiB", maxTraffic>>30)
	errStay    = fmt.Errorf("it stayed for %v, waiting included", maxStay)
)

// A relay is one stream, from a broker, and its program.
type relay struct {
	s    *Server
	conn *tls.Conn
	r    *wire.Reader
	w    *wire.Writer
	loan *worker.Loan
	// traffic is what is left of maxTraffic in each direction.
	sent, received int64
}

// serve handles one stream to its end. shaken is called when TLS is over.
func (s *Server) serve(raw net.Conn, shaken func()) {
	defer shaken()
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(keepAlive) // without it, a split shows at the time limit
	}
	conn := tls.Server(raw, s.tls)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(s.ending, handshakeTime)
	err := conn.HandshakeContext(ctx)
	cancel()
	shaken()
	if err != nil {
		s.log.Warn("reject a connection", "from", raw.RemoteAddr().String(), "err", err)
		return
	}
	if !s.waits(raw) {
		return
	}
	defer s.left(raw)
	x := &relay{s: s, conn: conn, r: wire.NewReader(conn, wire.Slack), w: wire.NewWriter(conn), sent: maxTraffic, received: maxTraffic}
	if x.say(wire.TypeLoad, s.load()) != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(idleTime))
	f, err := x.r.Next()
	if err != nil {
		return // it needs the stream no more
	}
	_ = conn.SetReadDeadline(time.Time{})
	var hello wire.Hello
	if f.Type != wire.TypeHello || json.Unmarshal(f.Payload, &hello) != nil {
		s.log.Warn("a broker broke the protocol", "from", raw.RemoteAddr().String(), "frame", f.Type.String())
		return
	}
	leave, refused := s.admit(raw, hello)
	if refused != nil {
		x.refuse(refused)
		return
	}
	defer s.runs.Done()
	x.run(hello, leave)
}

// say writes a frame of our own.
func (x *relay) say(t wire.Type, v any) error {
	text, err := wire.Marshal(v)
	if err != nil {
		return err
	}
	_ = x.conn.SetWriteDeadline(time.Now().Add(handshakeTime))
	defer x.conn.SetWriteDeadline(time.Time{})
	return x.w.Write(t, 0, text)
}

func (x *relay) refuse(why error) {
	_ = x.conn.SetWriteDeadline(time.Now().Add(handshakeTime))
	_ = x.w.WriteError(0, why) // if it is gone, it does not matter
}

// run lends the broker a process; leave is called when it has ended.
func (x *relay) run(hello wire.Hello, leave func(how string)) {
	loan, err := x.s.workers.Lend(x.s.ending, hello.MemoryBytes)
	if err != nil {
		x.s.log.Error("start a process", "err", err)
		leave(refusedStart)
		x.refuse(&sandbox.CallError{Name: refusedStart, Message: err.Error()})
		return
	}
	x.loan = loan
	if err := x.say(wire.TypeReady, wire.Ready{Layers: loan.Layers()}); err != nil {
		loan.Kill(errGone)
		loan.End(err)
		leave(string(wire.CauseEnded))
		return
	}
	clock := host.NewClock(hello.Timeout+host.KillMargin, func() { loan.Kill(host.ErrTimeout) }, nil)
	defer clock.Stop()
	stay := time.AfterFunc(maxStay, func() { loan.Kill(errStay) })
	defer stay.Stop()
	// A broker that does not read does not keep the place.
	context.AfterFunc(loan.Context(), func() { _ = x.conn.SetDeadline(time.Now().Add(farewell)) })
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		x.down(clock, max(hello.MemoryBytes, 64<<20)+wire.Slack)
	}()
	loan.Frames().SetMax(min(hello.FrameBytes, int(x.s.opts.MemoryBytes)))
	done, err := x.up()
	killed := loan.End(err)
	how := string(killed.Cause)
	if err == nil {
		how = "done"
	}
	leave(how)
	text, merr := wire.Marshal(killed)
	if merr == nil && x.w.Write(wire.TypeKilled, 0, text) == nil && done != nil {
		_ = x.w.Write(wire.TypeDone, 0, done.Payload)
	}
	_ = x.conn.CloseWrite() // and not more, before it has read all
	<-gone
}

// down copies frames to the process until the broker sends no more, which ends
// the process.
func (x *relay) down(clock *host.Clock, longest int64) {
	x.r.SetMax(int(longest))
	var resume func()
	first := true
	check := func(t wire.Type, size int64) error {
		x.received -= size
		switch {
		case x.received < 0:
			return errTraffic
		case first != (t == wire.TypeExec):
			return fmt.Errorf("the broker sent %s", t)
		case t == wire.TypePause && resume == nil:
			resume = clock.Pause()
		case t == wire.TypeResume && resume != nil:
			resume()
			resume = nil
		}
		first = false
		return nil
	}
	to := &toProcess{loan: x.loan}
	var err error
	for err == nil {
		err = x.r.Forward(to, check)
	}
	if _, ok := errors.AsType[*net.OpError](err); ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errGone
	}
	if !to.gone { // else it tells why by itself
		x.loan.Kill(err)
	}
	_, _ = io.Copy(io.Discard, x.conn) // so that the broker gets what was sent; bounded by the deadline
}

// toProcess writes to a process, and notes when that is gone.
type toProcess struct {
	loan *worker.Loan
	gone bool
}

func (w *toProcess) Write(p []byte) (int, error) {
	n, err := w.loan.Write(p)
	w.gone = w.gone || err != nil
	return n, err
}

// up copies frames to the broker until the program has ended.
func (x *relay) up() (done *wire.Frame, err error) {
	for {
		f, err := x.loan.Frames().Next()
		if err != nil {
			if _, tooLong := errors.AsType[*wire.SizeError](err); tooLong {
				err = &host.ProtocolError{Err: err}
			}
			return nil, err
		}
		if x.sent -= int64(len(f.Payload)); x.sent < 0 {
			x.loan.Kill(errTraffic)
			return nil, errTraffic
		}
		switch f.Type {
		case wire.TypeDone:
			return &f, nil
		case wire.TypeLoad, wire.TypeKilled, wire.TypeReady:
			return nil, &host.ProtocolError{Err: fmt.Errorf("unexpected frame from a running program: %s", f.Type)}
		}
		if err := x.w.Write(f.Type, f.ID, f.Payload); err != nil {
			x.loan.Kill(errGone)
			return nil, errGone
		}
	}
}
