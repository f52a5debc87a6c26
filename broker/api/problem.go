package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
)

// A Problem is an error answer (RFC 9457).
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Code is for programs, Detail for people: what happened, to what, and what to
	// do.
	Code        string              `json:"code"`
	Detail      string              `json:"detail"`
	Diagnostics []skills.Diagnostic `json:"diagnostics,omitempty"`
	// Approval is what has to be approved.
	Approval *library.Request `json:"approval,omitempty"`
}

func (p *Problem) Error() string { return p.Detail }

func newProblem(status int, code, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: fmt.Sprintf(format, args...)}
}

func (p *Problem) write(w http.ResponseWriter) {
	writeJSON(w, p.Status, "application/problem+json", p)
}

// Refuse answers a request that the caller of New refuses.
func Refuse(w http.ResponseWriter, status int, detail string) {
	newProblem(status, "refused", "%s", detail).write(w)
}

// raw is JSON that is written unchanged.
type raw []byte

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	data, ok := v.(raw)
	if !ok {
		data = append([]byte(gate.Encode(v).String()), '\n')
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that is gone needs none
}

// statuses are the HTTP statuses of codes other than 422.
var statuses = map[string]int{
	"skill_not_found": http.StatusNotFound, "plugin_not_found": http.StatusNotFound, "marketplace_not_found": http.StatusNotFound, "not_found": http.StatusNotFound,
	"already_exists": http.StatusConflict, "not_installed": http.StatusConflict,
	"fetch_failed": http.StatusBadGateway, "fetch_timeout": http.StatusGatewayTimeout, "git_missing": http.StatusNotImplemented,
	"bad_switches": http.StatusInternalServerError,
}

// problem returns the problem for an error. Errors that the client cannot fix are only
// logged.
func (s *server) problem(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return newProblem(http.StatusRequestEntityTooLarge, "too_large", "the body is larger than what can be installed")
	}
	e := library.Cause(err)
	if e == nil {
		return newProblem(http.StatusInternalServerError, "internal", "the broker could not do it: its log says why")
	}
	status, known := statuses[e.Code]
	if !known {
		status = http.StatusUnprocessableEntity
	}
	hide := s.o.Library().Hider()
	p := newProblem(status, e.Code, "%s", hide(strings.ReplaceAll(e.Message, "--force", "force")))
	for _, d := range e.Diagnostics {
		d.Message = hide(d.Message)
		p.Diagnostics = append(p.Diagnostics, d)
	}
	return p
}

type clientKey struct{}

type asker struct {
	client string
	person *upstream.Person // nil if no person has signed in
}

func withClient(ctx context.Context, client string, p *upstream.Person) context.Context {
	return context.WithValue(ctx, clientKey{}, asker{client, p})
}

func clientOf(r *http.Request) string { return askerOf(r).client }

func askerOf(r *http.Request) asker {
	a, _ := r.Context().Value(clientKey{}).(asker)
	return a
}
