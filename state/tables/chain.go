package tables

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// The kinds of links.
const (
	linkBegun    = "b" // of an execution, when it begins
	linkFinished = "f" // of an execution, when it ends
	linkCall     = "c"
	linkEvent    = "e"
	linkPruned   = "p" // a checkpoint: what is older than its time may be gone
)

// The columns that links have digests of.
const (
	beginColumns = "id, owner, client, client_info, language, code_hash, code, started"
	endColumns   = "id, status, ended, exit_code, duration, cpu, calls, bytes_in, bytes_out, error"
	chainColumns = "n, time, kind, ref, digest, hash"
	callColumns  = "execution, seq, server, tool, tool_id, started, duration, status, class, decision, arg_bytes, result_bytes, error, args, result"
	eventColumns = "time, kind, server, name, client, digest, failed, detail"
)

// A head is the row of that table.
type head struct {
	n, base         int64
	hash, baseHash  []byte
	start, migrated int64
}

const selectHead = "SELECT n, hash, base, base_hash, start, migrated FROM head"

func (h *head) fields() []any {
	return []any{&h.n, &h.hash, &h.base, &h.baseHash, &h.start, &h.migrated}
}

// Genesis is the hash before the first link of a chain that begins after the row
// start, at a time.
func Genesis(start, migrated int64) []byte { return digestOf(start, migrated) }

func (h *head) genesis() []byte { return Genesis(h.start, h.migrated) }

// checkpoint returns the digest of the link at which the chain begins.
func (h *head) checkpoint() []byte {
	return digestOf(h.base, h.baseHash, h.start, h.migrated)
}

// digestOf returns the SHA-256 of values that databases store unchanged: each is
// preceded by its type and length, so that different rows never have the same bytes.
func digestOf(values ...any) []byte {
	d := digesters.Get().(*digester)
	defer digesters.Put(d)
	d.reset()
	number, text := d.number, d.text
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			number('0', 0)
		case int64:
			number('i', uint64(v))
		case int:
			number('i', uint64(v))
		case bool:
			n := uint64(0)
			if v {
				n = 1
			}
			number('i', n)
		case string:
			text(v)
		case []byte:
			text(string(v))
		default: // of a column that somebody has changed
			text(fmt.Sprint(v))
		}
	}
	return d.sum()
}

// A digester hashes what is written to it, in pieces of a few kilobytes.
type digester struct {
	hash  hash.Hash
	piece []byte // is not in hash yet; its capacity never grows
}

var digesters = sync.Pool{New: func() any { return &digester{sha256.New(), make([]byte, 0, 4<<10)} }}

func (d *digester) reset() {
	d.hash.Reset()
	d.piece = d.piece[:0]
}

func (d *digester) grow(n int) {
	if cap(d.piece)-len(d.piece) < n {
		d.hash.Write(d.piece)
		d.piece = d.piece[:0]
	}
}

func (d *digester) number(kind byte, n uint64) {
	d.grow(9)
	d.piece = binary.BigEndian.AppendUint64(append(d.piece, kind), n)
}

func (d *digester) text(s string) {
	d.number('s', uint64(len(s)))
	for len(s) > 0 {
		d.grow(1)
		n := min(len(s), cap(d.piece)-len(d.piece))
		d.piece = append(d.piece, s[:n]...)
		s = s[n:]
	}
}

func (d *digester) sum() []byte {
	d.hash.Write(d.piece)
	return d.hash.Sum(nil)
}

// linkHash is the hash of a link after the one with the hash prev.
func linkHash(prev []byte, n, at int64, kind, ref string, digest []byte) []byte {
	return digestOf(prev, n, at, kind, ref, digest)
}

// link adds a link for a row that goes with what is as old as at.
func (w *writer) link(ctx context.Context, kind, ref string, at int64, row ...any) error {
	w.d.clean(row)
	return w.linkDigest(ctx, kind, ref, at, digestOf(row...))
}

func (w *writer) linkDigest(ctx context.Context, kind, ref string, at int64, digest []byte) error {
	w.head.n++
	w.head.hash = linkHash(w.head.hash, w.head.n, at, kind, ref, digest)
	return w.insert(ctx, "chain", chainColumns, w.head.n, at, kind, ref, digest, w.head.hash)
}

// chained runs f in a transaction in which it may add links.
func (w *writer) chained(ctx context.Context, f func() error) error {
	w.rows = [3]pending{}
	err := Transaction(ctx, w.conn, "head", func() error {
		if err := w.queryRow(ctx, selectHead).Scan(w.head.fields()...); err != nil {
			return fmt.Errorf("read the head of the chain: %w", err)
		}
		if w.inDoubt != nil {
			known, err := w.arrived(ctx)
			if known || err != nil {
				return err
			}
		}
		was := w.head.n
		if err := f(); err != nil || w.head.n == was {
			return err
		}
		if err := w.insertAll(ctx); err != nil {
			return err
		}
		w.doubt = &state.Head{N: w.head.n, Hash: string(w.head.hash)}
		return w.exec(ctx, "UPDATE head SET n = ?, hash = ?, base = ?, base_hash = ?", w.head.n, w.head.hash, w.head.base, w.head.baseHash)
	})
	if err == nil {
		w.last = state.Head{N: w.head.n, Hash: hex.EncodeToString(w.head.hash)}
	}
	return err
}

// shorten removes the links before which all rows are gone, once everything older
// than t is, and adds the checkpoint that says so.
func (w *writer) shorten(ctx context.Context, t int64, more bool) error {
	if !more {
		var first int64
		var begun int64
		err := w.conn.QueryRowContext(ctx, `SELECT coalesce((SELECT n FROM chain WHERE time >= ?1 ORDER BY n LIMIT 1), ?2),
			coalesce((SELECT min(begun) FROM executions WHERE started < ?1 AND begun > 0), ?2)`, t, w.head.n+1).Scan(&first, &begun)
		if err != nil {
			return err
		}
		first = min(first, begun)
		if first > w.head.base+1 {
			if err := w.conn.QueryRowContext(ctx, "SELECT n, hash FROM chain WHERE n = ?", first-1).Scan(&w.head.base, &w.head.baseHash); err != nil {
				return err
			}
			// A call may have been recorded when its execution was gone already.
			if _, err := w.conn.ExecContext(ctx, "DELETE FROM calls WHERE n IN (SELECT n FROM chain WHERE n < ? AND kind = 'c')", first); err != nil {
				return err
			}
			if _, err := w.conn.ExecContext(ctx, "DELETE FROM chain WHERE n < ?", first); err != nil {
				return err
			}
		}
	}
	return w.linkDigest(ctx, linkPruned, strconv.FormatInt(w.head.base, 10), t, w.head.checkpoint())
}

// announce logs the head, and adds it to the file of anchors, if there is
// something new.
func (w *writer) announce() {
	h := w.last
	if h.N == w.announced {
		return
	}
	w.announced = h.N
	h.Time = time.Now().UTC().Truncate(time.Second)
	w.log.Info("audit: head of the chain", "n", h.N, "hash", h.Hash)
	if w.o.Anchor == "" {
		return
	}
	line, _ := json.Marshal(h) // a time, a number and a text
	f, err := os.OpenFile(w.o.Anchor, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.Write(append(line, '\n'))
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		w.log.Error("audit: write anchor", "err", err)
	}
}
