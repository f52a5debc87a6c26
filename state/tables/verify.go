package tables

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// maxFlaws is how many flaws a verification names.
const maxFlaws = 20

// A verifier compares the rows in one snapshot of the database with its hash chain.
type verifier struct {
	ctx     context.Context
	conn    *Conn
	head    head
	anchors map[int64][]state.Head
	cutoff  int64 // rows older than this may have been pruned
	result  state.Verification
}

// Verify implements state.Verifier.
func (s *Store) Verify(ctx context.Context, anchors []state.Head) (state.Verification, error) {
	v := verifier{ctx: ctx, anchors: map[int64][]state.Head{}, cutoff: math.MinInt64}
	for _, a := range anchors {
		v.anchors[a.N] = append(v.anchors[a.N], a)
	}
	err := s.read(ctx, "verify", func(conn *Conn, _ []int64) error {
		v.conn = conn
		if err := conn.QueryRowContext(ctx, selectHead).Scan(v.head.fields()...); err != nil {
			return fmt.Errorf("the head of the chain is gone: %w", err)
		}
		for _, pass := range []func() error{v.chain, v.calls, v.events, v.executions, v.strays} {
			if err := pass(); err != nil {
				return err
			}
		}
		return nil
	})
	r := &v.result
	if v.head.base > v.head.start { // else nothing was removed
		r.Base = v.head.base
	}
	r.Head = state.Head{Time: time.Now().UTC().Truncate(time.Second), N: v.head.n, Hash: hex.EncodeToString(v.head.hash)}
	slices.SortStableFunc(r.Flaws, func(a, b state.Flaw) int { return cmp.Compare(a.N, b.N) })
	r.Flaws = append([]state.Flaw{}, r.Flaws[:min(len(r.Flaws), maxFlaws)]...)
	return *r, err
}

// flaw notes what is wrong. Each pass finds its first ones in order.
func (v *verifier) flaw(n int64, row, format string, args ...any) {
	if len(v.result.Flaws) < 10*maxFlaws {
		v.result.Flaws = append(v.result.Flaws, state.Flaw{N: n, Row: row, Why: fmt.Sprintf(format, args...)})
	}
}

// chain follows the hashes.
func (v *verifier) chain() error {
	h := &v.head
	prev, last := h.baseHash, h.base
	checkpoint := []byte(nil)
	v.compareAnchors(h.base, h.baseHash)
	err := v.each("SELECT n, time, kind, ref, digest, hash FROM chain ORDER BY n", nil, func(row []any) error {
		n, _ := row[0].(int64)
		at, _ := row[1].(int64)
		kind, ref, digest, sum := text(row[2]), text(row[3]), []byte(text(row[4])), []byte(text(row[5]))
		switch {
		case n != last+1:
			v.flaw(last+1, "links "+span(last+1, n-1), "missing from the chain")
		case !bytes.Equal(sum, linkHash(prev, n, at, kind, ref, digest)):
			v.flaw(n, "link "+strconv.FormatInt(n, 10), "its hash does not follow from the link before")
		}
		v.compareAnchors(n, sum)
		if kind == linkPruned {
			v.cutoff = max(v.cutoff, at)
			checkpoint = digest
		}
		prev, last = sum, n
		v.result.Links++
		return nil
	})
	if err != nil {
		return err
	}
	if last != h.n || !bytes.Equal(prev, h.hash) {
		v.flaw(last+1, "links "+span(last+1, h.n), "the chain ends before its head: rows at the end were removed, or the head was changed")
	}
	if h.base == h.start && !bytes.Equal(h.baseHash, h.genesis()) || h.base != h.start && !bytes.Equal(checkpoint, h.checkpoint()) {
		v.flaw(h.base, "the beginning of the chain", "no checkpoint of a prune says that the chain begins here: rows at the beginning were removed")
	}
	for n, list := range v.anchors {
		switch {
		case n < h.base:
			v.result.Older += len(list)
		case n > h.n:
			v.flaw(h.n+1, "links "+span(h.n+1, n), "removed: an anchor of %s has link %d, and the chain ends at %d", list[0].Time.Format(time.RFC3339), n, h.n)
		}
	}
	return nil
}

func (v *verifier) compareAnchors(n int64, sum []byte) {
	for _, a := range v.anchors[n] {
		if a.Hash == hex.EncodeToString(sum) {
			v.result.Anchors++
		} else {
			v.flaw(n, "link "+strconv.FormatInt(n, 10), "not the one that an anchor of %s has: the chain up to it was written anew", a.Time.Format(time.RFC3339))
		}
	}
}

func (v *verifier) calls() error {
	return v.rows(linkCall, "calls", callColumns, func(row []any) string {
		return fmt.Sprintf("call %s of %s in execution %s", text(row[1]), text(row[4]), cmp.Or(text(row[0]), "-"))
	})
}

func (v *verifier) events() error {
	return v.rows(linkEvent, "events", eventColumns, func(row []any) string {
		return fmt.Sprintf("event %s of %s", text(row[1]), timeOf(row[0]))
	})
}

// rows compares the rows of a table, which have the numbers of their links.
func (v *verifier) rows(kind, table, columns string, name func([]any) string) error {
	return v.each("SELECT l.n, l.time, l.digest, r.n, "+prefixed("r.", columns)+" FROM chain l LEFT JOIN "+table+" r ON r.n = l.n WHERE l.kind = ? ORDER BY l.n",
		[]any{kind}, func(row []any) error {
			n, _ := row[0].(int64)
			at, _ := row[1].(int64)
			values := row[4:]
			switch {
			case row[3] != nil:
				if !bytes.Equal(digestOf(values...), []byte(text(row[2]))) {
					v.flaw(n, name(values), "changed after it was written")
				}
			case at >= v.cutoff:
				v.flaw(n, fmt.Sprintf("row %d of %s, of %s", n, table, timeOf(at)), "removed")
			}
			return nil
		})
}

func (v *verifier) executions() error {
	begins, ends := len(strings.Split(beginColumns, ",")), len(strings.Split(endColumns, ","))
	return v.each("SELECT l.n, l.time, l.digest, l.kind, l.ref, e.begun, e.finished, "+prefixed("e.", beginColumns)+", "+prefixed("e.", endColumns)+
		" FROM chain l LEFT JOIN executions e ON e.id = l.ref WHERE l.kind IN ('b', 'f') ORDER BY l.n", nil, func(row []any) error {
		n, _ := row[0].(int64)
		at, _ := row[1].(int64)
		begun, exists := row[5].(int64)
		finished, _ := row[6].(int64)
		mine, values, what := begun, row[7:7+begins], "its beginning"
		if text(row[3]) == linkFinished {
			mine, values, what = max(finished, begun), row[7+begins:7+begins+ends], "its end"
		}
		switch {
		case !exists && at < v.cutoff, exists && mine > n: // pruned, or written again since
		case !exists:
			v.flaw(n, "execution "+text(row[4]), "removed")
		case mine < n:
			v.flaw(n, "execution "+text(row[4]), "%s was changed to what it was before", what)
		case !bytes.Equal(digestOf(values...), []byte(text(row[2]))):
			v.flaw(n, "execution "+text(row[4]), "%s was changed after it was written", what)
		}
		return nil
	})
}

// strays looks for rows that are in no link, and counts those that are older than
// the chain.
func (v *verifier) strays() error {
	for table, kind := range map[string]string{"calls": linkCall, "events": linkEvent} {
		err := v.each("SELECT n FROM "+table+" r WHERE n > ? AND NOT EXISTS (SELECT 1 FROM chain WHERE n = r.n AND kind = ?) LIMIT 20", []any{v.head.start, kind}, func(row []any) error {
			n, _ := row[0].(int64)
			v.flaw(n, fmt.Sprintf("row %d of %s", n, table), "not in the chain: the broker did not write it")
			return nil
		})
		if err != nil {
			return err
		}
	}
	err := v.each(`SELECT id, begun FROM executions e WHERE begun = 0 AND started >= ?
		OR begun > 0 AND NOT EXISTS (SELECT 1 FROM chain WHERE n = e.begun AND kind = 'b' AND ref = e.id)
		OR finished > 0 AND NOT EXISTS (SELECT 1 FROM chain WHERE n = e.finished AND kind = 'f' AND ref = e.id) LIMIT 20`, []any{v.head.migrated}, func(row []any) error {
		n, _ := row[1].(int64)
		v.flaw(n, "execution "+text(row[0]), "not in the chain: the broker did not write it")
		return nil
	})
	if err != nil {
		return err
	}
	return v.conn.QueryRowContext(v.ctx, `SELECT (SELECT count(*) FROM calls WHERE n <= ?1) + (SELECT count(*) FROM events WHERE n <= ?1)
		+ (SELECT count(*) FROM executions WHERE begun = 0 AND started < ?2)`, v.head.start, v.head.migrated).Scan(&v.result.Unhashed)
}

// each calls f with every row of a query. The row is used again.
func (v *verifier) each(query string, args []any, f func([]any) error) error {
	rows, err := v.conn.QueryContext(v.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	row, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := f(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// text is a value of a row as text.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}

func timeOf(v any) string {
	n, _ := v.(int64)
	return time.Unix(0, n).UTC().Format(time.RFC3339)
}

// span names the numbers from first to last.
func span(first, last int64) string {
	if last <= first {
		return strconv.FormatInt(first, 10)
	}
	return fmt.Sprintf("%d to %d", first, last)
}

func prefixed(prefix, columns string) string {
	return prefix + strings.ReplaceAll(columns, ", ", ", "+prefix)
}
