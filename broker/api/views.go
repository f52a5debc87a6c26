package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/state"
)

// views are the operations on what a Reader reads. They need a session of the
// console, or the admin token: they show what all clients did. docs/console.md
// lists them.
var views = []route{
	{http.MethodGet, "/api/servers", false, (*server).listServers},
	{http.MethodPost, "/api/servers", true, (*server).addServer},
	{http.MethodGet, "/api/servers/{name}", false, (*server).showServer},
	{http.MethodPut, "/api/servers/{name}", true, (*server).switchServer},
	{http.MethodPost, "/api/servers/{name}/retry", true, (*server).retryServer},
	{http.MethodGet, "/api/search", false, (*server).search},
	{http.MethodGet, "/api/executions", false, (*server).listExecutions},
	{http.MethodGet, "/api/executions/{id}", false, (*server).showExecution},
	{http.MethodPost, "/api/executions/{id}/cancel", true, (*server).cancelExecution},
	{http.MethodGet, "/api/calls", false, (*server).listCalls},
	{http.MethodGet, "/api/events", false, (*server).listEvents},
	{http.MethodGet, "/api/stats", false, (*server).stats},
	{http.MethodGet, "/api/stream", false, (*server).follow},
	{http.MethodGet, "/api/approvals", false, (*server).listWaiting},
	{http.MethodGet, "/api/runs/{id}", false, (*server).showRun},
	{http.MethodPost, "/api/runs/{id}/decide", true, (*server).decide},
	{http.MethodPost, "/api/runs/{id}/resume", true, (*server).resume},
	{http.MethodGet, "/api/pins", false, (*server).listPins},
	{http.MethodPost, "/api/pins", true, (*server).decidePin},
	{http.MethodGet, "/api/manifest", false, (*server).manifest},
	{http.MethodPost, "/api/execute", true, (*server).execute},
	{http.MethodPost, "/api/scripts", true, (*server).saveScript},
	{http.MethodGet, "/api/config", false, (*server).settings},
}

// query reads the parameters of a request. The first mistake is its err.
type query struct {
	url.Values
	err error
}

// number reads a number from 1 to most, or 0.
func (q *query) number(name string, most int64) int64 {
	text := q.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > most {
		q.err = cmp.Or(q.err, error(newProblem(http.StatusUnprocessableEntity, "bad_query", "%s is %.40q: use 1 to %d", name, text, most)))
	}
	return n
}

// time reads a time in RFC 3339.
func (q *query) time(name string) time.Time {
	text := q.Get(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		q.err = cmp.Or(q.err, error(newProblem(http.StatusUnprocessableEntity, "bad_query", "%s is %.40q: use a time such as 2026-01-31T12:00:00Z", name, text)))
	}
	return t
}

func queryOf(r *http.Request) *query { return &query{Values: r.URL.Query()} }

// answered converts an answer or an error to the results of a handler.
func answered(v any, err error) (int, any, error) { return http.StatusOK, v, err }

func notFound(what, name, hint string) error {
	return newProblem(http.StatusNotFound, "not_found", "there is no %s %q%s", what, gate.Cut(gate.Line(name), 80), hint)
}

// retryTime bounds how long a page waits for a server.
const retryTime = 30 * time.Second

func (s *server) retryServer(r *http.Request) (int, any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), retryTime)
	defer cancel()
	if _, ok, err := s.o.Reader.Server(ctx, r.PathValue("name")); err != nil || !ok {
		return 0, nil, cmp.Or(err, notFound("server", r.PathValue("name"), ""))
	}
	s.o.Reader.Broker.Refresh(ctx, r.PathValue("name"))
	return s.showServer(r)
}

func (s *server) search(r *http.Request) (int, any, error) {
	q := queryOf(r)
	req := broker.SearchRequest{Query: q.Get("q"), Server: q.Get("server"), Detail: broker.Detail(q.Get("detail")), Limit: int(q.number("limit", 50)),
		NoWait: true} // the page shows at once what is there, and which servers were not searched
	if q.err != nil {
		return 0, nil, q.err
	}
	x, err := s.o.Reader.Explain(r.Context(), req)
	if err != nil {
		return 0, nil, newProblem(http.StatusUnprocessableEntity, "bad_query", "%s", err)
	}
	return http.StatusOK, x, nil
}

// maxListed is how many rows one answer has at most.
const maxListed = 1000

func (s *server) listExecutions(r *http.Request) (int, any, error) {
	q := queryOf(r)
	f := state.Filter{Limit: int(q.number("limit", maxListed)), Since: q.time("since"), Until: q.time("until"),
		Status: q.Get("status"), Client: q.Get("client"), Server: q.Get("server"), Text: q.Get("q")}
	if q.err != nil {
		return 0, nil, q.err
	}
	found, err := s.o.Reader.searchExecutions(r.Context(), f, searchTime)
	for i := range found.Executions {
		found.Executions[i].Code = gist(found.Executions[i].Code) // showExecution has it
	}
	return answered(found, err)
}

// gist is the first line of a script that says something.
func gist(code string) string {
	for line := range strings.Lines(code) {
		line = strings.TrimSpace(gate.Line(line))
		if line != "" && !strings.HasPrefix(line, "import ") {
			return gate.Cut(line, 120)
		}
	}
	return ""
}

func (s *server) showExecution(r *http.Request) (int, any, error) {
	e, calls, err := s.o.Reader.Audit.Show(r.Context(), r.PathValue("id"))
	if errors.Is(err, state.ErrNoRecord) {
		err = notFound("execution", r.PathValue("id"), "; it may have been pruned")
	}
	return answered(Execution{e, calls}, err)
}

// cancelExecution ends an execution that runs, here or at another broker. It does not
// wait for its end.
func (s *server) cancelExecution(r *http.Request) (int, any, error) {
	e, _, err := s.o.Reader.Audit.Show(r.Context(), r.PathValue("id"))
	switch {
	case errors.Is(err, state.ErrNoRecord):
		return 0, nil, notFound("execution", r.PathValue("id"), "; it may have been pruned")
	case err != nil:
		return 0, nil, err
	case e.Status != state.StatusRunning:
		return 0, nil, newProblem(http.StatusConflict, "not_running", "execution %s does not run: it is %s", e.ID, e.Status)
	}
	if s.o.Cancel != nil {
		err = s.o.Cancel(r.Context(), e.ID)
	} else if !s.o.Reader.Broker.Cancel(e.ID) {
		err = newProblem(http.StatusConflict, "elsewhere", "execution %s runs in another process: end it there", e.ID)
	}
	if err == nil {
		s.o.Note(state.Event{Kind: state.EventCancelled, Name: e.ID, Client: clientOf(r), Detail: "cancelled while it ran"})
	}
	return http.StatusAccepted, struct {
		Execution string `json:"execution"`
	}{e.ID}, err
}

func (s *server) listEvents(r *http.Request) (int, any, error) {
	q := queryOf(r)
	since, limit := q.time("since"), q.number("limit", maxListed)
	if q.err != nil {
		return 0, nil, q.err
	}
	list, err := s.o.Reader.Audit.Events(r.Context(), since, int(limit))
	return answered(Events{list}, err)
}

func (s *server) stats(r *http.Request) (int, any, error) {
	q := queryOf(r)
	since := q.time("since")
	if q.err != nil {
		return 0, nil, q.err
	}
	return answered(s.o.Reader.Ledger(r.Context(), since))
}

func (s *server) listWaiting(r *http.Request) (int, any, error) {
	return answered(s.o.Reader.Waiting(r.Context()))
}

// runProblem returns the problem for a run that does not exist.
func runProblem(err error, id string) error {
	if errors.Is(err, state.ErrNotFound) {
		return notFound("run", id, "; runs are kept for a week")
	}
	return err
}

func (s *server) showRun(r *http.Request) (int, any, error) {
	run, err := s.o.Reader.Run(r.Context(), r.PathValue("id"), r.URL.Query().Get("whole") == "true")
	return answered(run, runProblem(err, r.PathValue("id")))
}

// MaxReason bounds why a person denies calls: the model reads it.
const MaxReason = 500

// decide approves or denies calls of a run. The digests are those of the calls that
// the person was shown.
func (s *server) decide(r *http.Request) (int, any, error) {
	var body struct {
		Approve bool     `json:"approve"`
		ForRun  bool     `json:"for_run"`
		Always  bool     `json:"always"`
		Reason  string   `json:"reason"`
		Calls   []int    `json:"calls"`
		Digests []string `json:"digests"`
	}
	if err := readBody(r, &body); err != nil {
		return 0, nil, err
	}
	if len(body.Calls) == 0 || len(body.Calls) != len(body.Digests) {
		return 0, nil, newProblem(http.StatusUnprocessableEntity, "bad_body", `the body needs "calls" and "digests", of the calls that were shown`)
	}
	if body.Approve && body.Reason != "" || len(body.Reason) > MaxReason {
		return 0, nil, newProblem(http.StatusUnprocessableEntity, "bad_body", `"reason" is for calls that are denied, and has at most %d bytes`, MaxReason)
	}
	always := body.Approve && body.Always && s.o.Always != nil
	v := state.Verdict{Approve: body.Approve, ForRun: body.ForRun || always, Only: body.Calls, By: clientOf(r), Reason: gate.Line(body.Reason), Denied: broker.Denied}
	switch v.By {
	case clientConsole:
		v.By = "the console"
	case clientAdmin:
		v.By = "the admin token"
	}
	id := ""
	meant, err := s.o.Reader.Decide(r.Context(), r.PathValue("id"), v, func(run state.Run, calls []state.RunCall) error {
		id = run.ID
		for _, c := range calls {
			switch body.Digests[slices.Index(body.Calls, c.Ordinal)] {
			case ShownDigest(c):
			case "":
				if body.Approve {
					return newProblem(http.StatusConflict, "not_shown", "call %d was not shown in full: get the run with whole=true, and approve the call with its digest from there", c.Ordinal)
				}
			default:
				return newProblem(http.StatusConflict, "changed", "call %d is not what was shown: look at it again", c.Ordinal)
			}
		}
		if err := broker.Lasting(calls); always && err != nil {
			return newProblem(http.StatusConflict, "asked_by_rule", "%s", err)
		}
		return nil
	})
	if err == nil {
		s.o.Note(v.Event(id, meant))
	}
	if err == nil && always {
		err = s.o.Always(broker.ToolsOf(meant))
	}
	if errors.Is(err, ErrNothingWaits) {
		err = newProblem(http.StatusConflict, "decided", "these calls do not wait for a decision any more")
	}
	if denied, ok := errors.AsType[*DeniedError](err); ok {
		err = newProblem(http.StatusConflict, "denied", "%s", denied)
	}
	if err != nil {
		return 0, nil, runProblem(err, r.PathValue("id"))
	}
	return http.StatusOK, map[string]int{"decided": len(meant)}, nil
}

func (s *server) resume(r *http.Request) (int, any, error) {
	run, err := s.o.Reader.Run(r.Context(), r.PathValue("id"), false)
	if err != nil {
		return 0, nil, runProblem(err, r.PathValue("id"))
	}
	req := broker.ExecuteRequest{Resume: run.Run.ID, Owner: run.Run.Principal, Language: run.Run.Language, Profile: run.Run.Profile, Narrowed: run.Run.Narrowed}
	if p := askerOf(r).person; p != nil && p.Name == run.Run.Principal { // else it would be done with the accounts of another
		r = r.WithContext(upstream.WithPerson(r.Context(), p))
	}
	return s.run(r, req)
}

// execute runs a script for the person at the console.
func (s *server) execute(r *http.Request) (int, any, error) {
	var body struct {
		Code     string `json:"code"`
		Language string `json:"language"`
		Timeout  int    `json:"timeout"`
		Plan     bool   `json:"plan"`
	}
	if err := readBody(r, &body); err != nil {
		return 0, nil, err
	}
	req := broker.ExecuteRequest{Code: body.Code, Language: body.Language, Timeout: time.Duration(body.Timeout) * time.Second, Plan: body.Plan, Owner: state.Local}
	if p := askerOf(r).person; p != nil { // a person's agents use the same values and accounts
		req.Owner, r = p.Name, r.WithContext(upstream.WithPerson(r.Context(), p))
	}
	return s.run(r, req)
}

// settings are the values of the config in force, and where each is from.
func (s *server) settings(*http.Request) (int, any, error) {
	if s.o.Settings == nil {
		return http.StatusOK, map[string]any{"settings": []any{}}, nil
	}
	list, err := s.o.Settings()
	if err != nil {
		return 0, nil, newProblem(http.StatusConflict, "bad_config", "the file cannot be shown, and an earlier one is in force: %s", gate.Cut(s.o.Library().Hider()(err.Error()), 2000))
	}
	return http.StatusOK, map[string]any{"settings": list}, nil
}

// saveScript keeps a script because a person says so.
func (s *server) saveScript(r *http.Request) (int, any, error) {
	var body struct{ Name, Description, Code string }
	if err := readBody(r, &body); err != nil {
		return 0, nil, err
	}
	if s.o.SaveScript == nil {
		return 0, nil, newProblem(http.StatusNotImplemented, "no_config", "this broker has no config beside which scripts are saved")
	}
	saved, err := s.o.SaveScript(body.Name, body.Description, body.Code)
	if _, file := errors.AsType[*fs.PathError](err); err != nil && !file {
		err = newProblem(http.StatusUnprocessableEntity, "bad_script", "%s", s.o.Library().Hider()(err.Error()))
	}
	if err != nil {
		return 0, nil, err
	}
	s.o.Note(state.Event{Kind: state.EventScriptSaved, Name: body.Name, Client: clientOf(r), Detail: "saved " + body.Name})
	return http.StatusOK, saved, nil
}

// A Ran is what the model would get, and the id of the execution in the record, if
// it is there.
type Ran struct {
	Answer    broker.ExecuteAnswer `json:"answer"`
	Execution string               `json:"execution,omitempty"`
}

// run executes until it ends or the page is gone.
func (s *server) run(r *http.Request, req broker.ExecuteRequest) (int, any, error) {
	if req.Client = clientConsole; askerOf(r).person != nil {
		req.Client = clientOf(r)
	}
	answer := s.o.Reader.Broker.Execute(r.Context(), req)
	list, err := s.o.Reader.Audit.List(r.Context(), state.Filter{Client: req.Client, Limit: 5})
	if err != nil {
		return 0, nil, err
	}
	ran := Ran{Answer: answer}
	for _, e := range list {
		if req.Code == "" || e.CodeHash == state.HashCode(req.Code) {
			ran.Execution = e.ID
			break
		}
	}
	return http.StatusOK, ran, nil
}

func (s *server) listPins(*http.Request) (int, any, error) {
	list, err := s.o.Reader.PinRows()
	return answered(map[string]any{"pins": list}, err)
}

// decidePin approves one thing as it was shown, or blocks it.
func (s *server) decidePin(r *http.Request) (int, any, error) {
	var body struct{ Server, Title, Action, Seen string }
	if err := readBody(r, &body); err != nil {
		return 0, nil, err
	}
	list, err := s.o.Reader.PinRows()
	if err != nil {
		return 0, nil, err
	}
	i := slices.IndexFunc(list, func(p Pin) bool { return p.Server == body.Server && p.Title == body.Title })
	if i < 0 || list[i].Seen != body.Seen {
		return 0, nil, newProblem(http.StatusConflict, "changed", "%s is not what was shown: look at it again", gate.Cut(gate.Line(body.Server+"."+body.Title), 200))
	}
	change, ok := map[string]func([]pins.Row) error{"approve": s.o.Reader.Pins.Approve, "block": s.o.Reader.Pins.Block}[body.Action]
	if !ok {
		return 0, nil, newProblem(http.StatusUnprocessableEntity, "bad_body", `"action" is %.40q: use approve or block`, body.Action)
	}
	if err := change([]pins.Row{list[i].Row}); err != nil {
		return 0, nil, err
	}
	s.o.Note(state.Event{Kind: state.EventPins, Server: body.Server, Client: clientOf(r), Detail: strings.TrimSuffix(body.Action, "e") + "ed " + body.Title})
	return s.listPins(r)
}

// manifest is what an editor completes from.
func (s *server) manifest(*http.Request) (int, any, error) {
	for f := range s.o.Reader.Broker.CodeFiles() {
		if f.Path == codegen.ManifestPath {
			return http.StatusOK, json.RawMessage(f.Data), nil
		}
	}
	return http.StatusOK, struct{}{}, nil
}
