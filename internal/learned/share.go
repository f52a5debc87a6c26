package learned

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mcpbroker/mcpbroker/state"
)

// Reset forgets what is known of the tools that match: those of server, or one
// of them. Empty means all. It returns how many there were.
func (s *Store) Reset(server, tool string) (int, error) {
	s.file.Lock()
	defer s.file.Unlock()
	if err := s.loadLocked(); err != nil {
		return 0, err
	}
	if err := s.types.Forget(context.Background(), server, tool); err != nil {
		return 0, fmt.Errorf("forget learned types: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for k := range s.tools {
		if (server == "" || k.Server == server) && (tool == "" || k.Tool == tool) {
			delete(s.tools, k)
			n++
		}
	}
	return n, nil
}

// exported is the file that Export writes: for a team to ship.
type exported struct {
	Format string         `json:"format"`
	Tools  []exportedTool `json:"tools"`
}

type exportedTool struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	learnedTool
}

const exportFormat = "broker-learned-types/1"

// Export writes all that is known as JSON, without the hashes of keys that are
// not known yet.
func (s *Store) Export(w io.Writer) error {
	list, err := s.List()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := exported{Format: exportFormat, Tools: []exportedTool{}}
	for _, t := range list {
		e := s.tools[state.ToolName{Server: t.Server, Tool: t.Tool}]
		if e == nil {
			continue
		}
		var copied learnedTool
		text, err := json.Marshal(&e.learnedTool)
		if err == nil {
			err = json.Unmarshal(text, &copied)
		}
		if err != nil {
			return err
		}
		copied.Root.forgetPending()
		out.Tools = append(out.Tools, exportedTool{t.Server, t.Tool, copied})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// forgetPending turns objects of which no key is known into maps, and drops the
// other keys that are not known.
func (n *node) forgetPending() {
	if n == nil {
		return
	}
	n.Elem.forgetPending()
	o := n.Object
	if o == nil {
		return
	}
	if o.Values == nil && len(o.Fields) == 0 && len(o.Pending) > 0 {
		o.toMap()
	}
	o.Pending = nil
	o.Values.forgetPending()
	for _, f := range o.Fields {
		f.node.forgetPending()
	}
}

// Import reads what Export wrote. Of a tool that is known already, the type that
// was learned from more calls stays. It returns how many types it took.
func (s *Store) Import(r io.Reader) (int, error) {
	var in exported
	if err := json.NewDecoder(io.LimitReader(r, 256<<20)).Decode(&in); err != nil {
		return 0, fmt.Errorf("not an export of learned types: %w", err)
	}
	if in.Format != exportFormat {
		return 0, fmt.Errorf("not an export of learned types: \"format\" is %q, not %q", in.Format, exportFormat)
	}
	for i, t := range in.Tools {
		if t.Server == "" || t.Tool == "" || t.Calls < 1 || t.Calls > maxImportedCalls || !t.Root.sane(0) {
			return 0, fmt.Errorf("type %d of the export (%s/%s) is damaged", i+1, t.Server, t.Tool)
		}
	}
	s.file.Lock()
	defer s.file.Unlock()
	if err := s.loadLocked(); err != nil {
		return 0, err
	}
	if err := s.agree(); err != nil {
		return 0, err
	}
	return s.replace(in.Tools)
}

// maxImportedCalls is how many calls an imported type may say that it was
// learned from: one that says more would never be replaced.
const maxImportedCalls = 1_000_000

// replace stores those types that were learned from more calls than what is
// known here, all of them or none, and returns how many they are.
func (s *Store) replace(types []exportedTool) (taken int, err error) {
	var tools []state.ToolName
	better := map[state.ToolName]learnedTool{}
	s.mu.Lock()
	for _, t := range types {
		k := state.ToolName{Server: t.Server, Tool: t.Tool}
		if known := s.tools[k]; known == nil || known.Calls < t.Calls {
			if _, twice := better[k]; !twice {
				tools = append(tools, k)
			}
			better[k] = t.learnedTool
		}
	}
	s.mu.Unlock()
	rows, err := s.types.Change(context.Background(), tools, func(r state.TypeRow) ([]byte, error) {
		t := better[r.ToolName]
		return json.Marshal(&t)
	})
	if err != nil {
		return 0, fmt.Errorf("write learned types: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rows {
		s.tools[r.ToolName] = &entry{learnedTool: better[r.ToolName], version: r.Version}
	}
	return len(rows), nil
}

// sane reports whether this package could have made a node that came from
// outside: its names are names and it ends.
func (n *node) sane(depth int) bool {
	if n == nil {
		return true
	}
	if depth > maxDepth+1 || !n.Elem.sane(depth+1) {
		return false
	}
	o := n.Object
	if o == nil {
		return true
	}
	if len(o.Fields) > maxKeys || len(o.Pending) > maxKeys || !o.Values.sane(depth+1) {
		return false
	}
	for _, f := range o.Fields {
		if f == nil || !fieldName.MatchString(f.Name) || !f.node.sane(depth+1) {
			return false
		}
	}
	for _, p := range o.Pending {
		if p == nil || !p.node.sane(depth+1) {
			return false
		}
	}
	return true
}
