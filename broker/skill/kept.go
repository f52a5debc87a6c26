package skill

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
	"github.com/mcpbroker/mcpbroker/state"
)

// The kinds of documents that several brokers share.
const (
	KindWorkflows   = "workflows"
	KindActivations = "activations"
)

const (
	// maxPart is how long a part of a session becomes before the next one begins: what
	// happens next is added by writing the part again.
	maxPart = 64 << 10
	// maxAge, maxKept and maxKeptBytes are how long sessions of one client and workflow
	// are kept after their last event, how many, and how much space they use.
	maxAge       = 30 * 24 * time.Hour
	maxKept      = 1000
	maxKeptBytes = 256 << 20
	// keptTime is how long it may take to read or change what is kept.
	keptTime = 15 * time.Second
)

// keyOf names what belongs to a client and a workflow, or a conversation.
func keyOf(parts ...string) string {
	sum := sha256.Sum256(gate.Compact(parts))
	return hex.EncodeToString(sum[:16])
}

// keptSessions implements workflow.Sessions and workflow.Locker with documents, so
// that any broker goes on with a session that shares them. One has a document for each
// of its parts, OWNER.SESSION.NUMBER, with an event on each line.
type keptSessions struct {
	docs  state.Documents
	owner string // see keyOf
	log   *slog.Logger
}

var (
	_ workflow.Sessions = keptSessions{}
	_ workflow.Locker   = keptSessions{}
)

// failed hides from models where the sessions are.
func (s keptSessions) failed(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.log.Error("sessions of workflows", "err", err)
	return errors.New("sessions cannot be kept or read; the log of this broker says why")
}

func (s keptSessions) name(id string) string { return s.owner + "." + id }

// New implements workflow.Sessions. It removes the sessions that are too old or too
// many.
func (s keptSessions) New() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), keptTime)
	defer cancel()
	if err := s.prune(ctx); err != nil {
		return "", s.failed(err)
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	id := hex.EncodeToString(random[:])
	return id, s.failed(s.docs.SetDocument(ctx, s.part(id, 0), []byte{}))
}

func (s keptSessions) part(id string, n int) string { return fmt.Sprintf("%s.%06d", s.name(id), n) }

// parts are the documents of a session; without any it is not known.
func (s keptSessions) parts(ctx context.Context, id string) ([]state.DocumentInfo, error) {
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("session: %w", fs.ErrNotExist)
	}
	list, err := s.docs.ListDocuments(ctx, s.name(id)+".")
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("session: %w", fs.ErrNotExist)
	}
	return list, err
}

func (s keptSessions) prune(ctx context.Context) error {
	list, err := s.docs.ListDocuments(ctx, s.owner+".")
	if err != nil {
		return err
	}
	type session struct {
		last  time.Time
		bytes int64
		parts []string
	}
	byID := make(map[string]*session)
	for _, d := range list {
		id, _, _ := strings.Cut(strings.TrimPrefix(d.Name, s.owner+"."), ".")
		one := byID[id]
		if one == nil {
			one = &session{}
			byID[id] = one
		}
		one.bytes += d.Bytes
		one.parts = append(one.parts, d.Name)
		if d.Changed.After(one.last) {
			one.last = d.Changed
		}
	}
	var all []*session
	for _, one := range byID {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *session) int { return b.last.Compare(a.last) })
	var total int64
	for i, one := range all {
		if total += one.bytes; i < maxKept-1 && total <= maxKeptBytes && time.Since(one.last) <= maxAge {
			continue
		}
		for _, name := range one.parts {
			if err := s.docs.SetDocument(ctx, name, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// Append implements workflow.Sessions, for who has the lock.
func (s keptSessions) Append(id string, e workflow.Event) error {
	ctx, cancel := context.WithTimeout(context.Background(), keptTime)
	defer cancel()
	return s.failed(s.add(ctx, id, e))
}

func (s keptSessions) add(ctx context.Context, id string, e workflow.Event) error {
	parts, err := s.parts(ctx, id)
	if err != nil {
		return err
	}
	name, body := s.part(id, len(parts)), []byte(nil)
	if last := parts[len(parts)-1]; last.Bytes < maxPart {
		if name = last.Name; last.Bytes > 0 {
			if body, err = s.docs.Document(ctx, name); err != nil {
				return err
			}
		}
	}
	text := bytes.NewBuffer(body)
	enc := json.NewEncoder(text)
	enc.SetEscapeHTML(false) // which would make it longer
	if err := enc.Encode(e); err != nil {
		return err
	}
	return s.docs.SetDocument(ctx, name, text.Bytes())
}

// Load implements workflow.Sessions.
func (s keptSessions) Load(id string) (events []workflow.Event, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), keptTime)
	defer cancel()
	parts, err := s.parts(ctx, id)
	if err != nil {
		return nil, s.failed(err)
	}
	for _, part := range parts {
		body, err := s.docs.Document(ctx, part.Name)
		if err != nil {
			return nil, s.failed(err)
		}
		for line := range bytes.Lines(body) {
			var e workflow.Event
			if err := json.Unmarshal(line, &e); err != nil {
				return nil, fmt.Errorf("session %s is damaged in event %d: %w", id, len(events)+1, err)
			}
			events = append(events, e)
		}
	}
	return events, nil
}

// Lock implements workflow.Locker.
func (s keptSessions) Lock(ctx context.Context, id string) (unlock func(), err error) {
	if _, err := s.parts(ctx, id); err != nil {
		return nil, s.failed(err)
	}
	unlock, err = s.docs.LockDocument(ctx, s.part(id, 0))
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("wait for another broker: %w", context.Cause(ctx))
	}
	return unlock, s.failed(err)
}
