package skill

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
)

// An activated is a skill that a reader may use since it was activated, at whichever
// broker: one that models are not shown, or one of a server, as it was then.
type activated struct {
	At     time.Time     `json:"at"`
	Server string        `json:"server,omitempty"`
	Entry  *skills.Entry `json:"entry,omitempty"`
}

const (
	// maxActivatedAge is how long what one broker has noted is of use to others, and
	// maxActivated how many skills that are of one reader.
	maxActivatedAge = 24 * time.Hour
	maxActivated    = 50
)

// activations are the documents of what readers have activated; nil if nothing is
// shared.
func (f *Feature) activations() state.Documents {
	if o := f.opts.Load(); o.Documents != nil {
		return o.Documents(KindActivations)
	}
	return nil
}

func (f *Feature) activationsOf(r reader) string {
	return keyOf("activations", f.opts.Load().Room, r.owner, r.session)
}

// remember tells the other brokers that a reader has activated a skill, if it could
// not use it there otherwise.
func (f *Feature) remember(r reader, k *skills.Skill) {
	docs := f.activations()
	if docs == nil || k.Scope != skills.ScopeServer && k.ModelInvocable {
		return
	}
	one := activated{At: time.Now()}
	if k.Scope == skills.ScopeServer {
		one.Server, one.Entry = k.Server, new(k.Entry())
	}
	err := state.OneDocument(docs, f.activationsOf(r)).Edit(func(text []byte) ([]byte, error) {
		list := make(map[string]activated)
		_ = json.Unmarshal(text, &list) // a damaged one is begun again
		list[k.Ref] = one
		for ref, old := range list {
			if time.Since(old.At) > maxActivatedAge {
				delete(list, ref)
			}
		}
		for len(list) > maxActivated {
			oldest := k.Ref
			for ref, old := range list {
				if old.At.Before(list[oldest].At) {
					oldest = ref
				}
			}
			delete(list, oldest)
		}
		return json.Marshal(list)
	})
	if err == nil {
		err = f.sweepActivations(docs)
	}
	if err != nil {
		f.log.Warn("note an activated skill", "skill", k.Ref, "err", err)
	}
}

// sweepActivations removes, once in an hour, what is of no use to anybody.
func (f *Feature) sweepActivations(docs state.Documents) error {
	last := f.swept.Load()
	if now := time.Now().Unix(); now-last < 3600 || !f.swept.CompareAndSwap(last, now) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), keptTime)
	defer cancel()
	list, err := docs.ListDocuments(ctx, "")
	for i := 0; i < len(list) && err == nil; i++ {
		if time.Since(list[i].Changed) > 2*maxActivatedAge {
			err = docs.SetDocument(ctx, list[i].Name, nil)
		}
	}
	return err
}

// recall takes in what a reader has activated at other brokers.
func (f *Feature) recall(r reader) {
	docs := f.activations()
	if docs == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), keptTime)
	defer cancel()
	text, err := docs.Document(ctx, f.activationsOf(r))
	if errors.Is(err, state.ErrNotFound) {
		return
	}
	list := make(map[string]activated)
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		f.log.Warn("read which skills were activated", "err", err)
		return
	}
	for ref, one := range list {
		if time.Since(one.At) > maxActivatedAge {
			continue
		}
		f.sessions.session(r).Know(ref)
		reg := f.opts.Load().Registry
		if one.Entry == nil || reg == nil || f.sessions.holds(r, ref) {
			continue
		}
		if k, err := reg.Described(one.Server, ref, *one.Entry); err == nil {
			f.sessions.hold(r, k)
		}
	}
}
