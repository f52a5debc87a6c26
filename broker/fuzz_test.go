package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A surveyor is a Runner whose child sends its code as the survey frame.
type surveyor struct{ problems []string }

func (s *surveyor) Run(ctx context.Context, req sandbox.Request) (sandbox.Result, error) {
	var p sandbox.Parsed
	if req.Check == nil || json.Unmarshal([]byte(req.Code), &p) != nil {
		return sandbox.Result{}, nil
	}
	v := req.Check(ctx, p)
	for _, problem := range v.Problems {
		if problem.Message == "" {
			s.problems = append(s.problems, "a problem without words")
		}
	}
	if raw, err := json.Marshal(v); err != nil || len(raw) > 100*len(req.Code)+100_000 {
		s.problems = append(s.problems, fmt.Sprintf("a verdict of %d bytes, %v", len(raw), err))
	}
	return sandbox.Result{}, nil
}

func (*surveyor) Close() error { return nil }

// A child that was taken over may send any survey.
func FuzzSurvey(f *testing.F) {
	for _, survey := range []string{
		`{"calls":[{"target":"github__list_issues","at":-1,"input":{"kind":"object","fields":[{"name":"owner","at":9999999,"value":{"kind":"value","value":1e999}}]}}]}`,
		`{"calls":[{"target":"github.listIssues","at":3,"input":{"kind":"value","value":{"owner":[]}}},{"target":"","at":0,"input":{"kind":"no such kind"}}]}`,
		`{"names":[{"name":"listIssues","at":0,"called":true},{"name":"lstIssues","at":-5,"called":true},{"name":"__proto__","at":1}]}`,
		`{"source":"export {}","calls":[{"target":"github__create_issue","at":0,"input":{"kind":"array","open":true,"items":[{"kind":"text"}]}}]}`,
		`{"calls":null,"names":null}`,
	} {
		f.Add(survey)
	}
	s := &surveyor{}
	b := newBroker(f, broker.Deps{Runner: s}, broker.Settings{Servers: []upstream.Config{upstreamConfig(f, "github")}})
	b.Refresh(f.Context())
	f.Fuzz(func(t *testing.T, survey string) {
		s.problems = nil
		b.Execute(t.Context(), broker.ExecuteRequest{Code: survey})
		for _, p := range s.problems {
			t.Errorf("the survey %q: %s", survey, p)
		}
	})
}
