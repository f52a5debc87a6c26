package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const toolsCall = "tools/call"

// Middleware creates a span for each tools/call of a client, within the trace that the client
// names in "_meta", and measures all its requests.
func (t *Telemetry) Middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		began := time.Now()
		about := []attribute.KeyValue{attribute.String(methodName, method)}
		if s, ok := req.GetSession().(*mcp.ServerSession); ok && method == "initialize" {
			t.session(began, s, sessionOf(req)[:1])
		}
		var span trace.Span
		if p, ok := req.GetParams().(*mcp.CallToolParamsRaw); ok {
			about = append(about, attribute.String(operationName, executeTool), attribute.String(toolName, p.Name))
			ctx, span = t.tracer.Start(t.extract(ctx, p.Meta), toolsCall+" "+p.Name, trace.WithSpanKind(trace.SpanKindServer),
				trace.WithAttributes(about...), trace.WithAttributes(sessionOf(req)...))
			defer span.End()
		}
		res, err := next(ctx, method, req)
		kind := ""
		if r, ok := res.(*mcp.CallToolResult); ok && r != nil && r.IsError {
			kind = toolError
		}
		if err != nil {
			kind = "error"
			if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
				kind = strconv.FormatInt(rpc.Code, 10)
			}
		}
		about = failed(span, about, kind)
		t.served.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(about...))
		return res, err
	}
}

// session measures a session of a client until it or t ends.
func (t *Telemetry) session(began time.Time, s *mcp.ServerSession, about []attribute.KeyValue) {
	var once sync.Once
	end := func(err error) {
		once.Do(func() {
			if err != nil {
				about = append(about, attribute.String(errorType, "error"))
			}
			t.clients.Record(context.Background(), time.Since(began).Seconds(), metric.WithAttributes(about...))
		})
	}
	if _, again := t.sessions.LoadOrStore(s, end); again {
		return
	}
	go func() { // until the session ends
		end(s.Wait())
		t.sessions.Delete(s)
	}()
}

// Ended measures a session with a server that has ended, with an error if cause is not nil.
func (t *Telemetry) Ended(server, over string, lasted time.Duration, cause error) {
	about := []attribute.KeyValue{attribute.String(upstream, server), attribute.String(transport, "tcp")}
	if over == "stdio" {
		about[1] = attribute.String(transport, "pipe")
	}
	if cause != nil {
		about = append(about, attribute.String(errorType, "error"))
	}
	t.servers.Record(context.Background(), lasted.Seconds(), metric.WithAttributes(about...))
}

// Redacted counts data that was kept from a model.
func (t *Telemetry) Redacted(kind string) {
	t.redactions.Add(context.Background(), 1, metric.WithAttributes(attribute.String("type", kind)))
}

// Skill begins a step of a skill: its activation, or the run of a script. The returned function
// ends it.
func (t *Telemetry) Skill(ctx context.Context, step, name, script string) (context.Context, func(error)) {
	about := []attribute.KeyValue{attribute.String(skill, name)}
	if script != "" {
		about = append(about, attribute.String(skillScript, script))
	}
	ctx, span := t.tracer.Start(ctx, step+" "+name, trace.WithAttributes(about...))
	return ctx, func(err error) {
		if err != nil {
			failed(span, nil, "error")
		}
		span.End()
	}
}

// failed records the kind of an error, if any.
func failed(span trace.Span, about []attribute.KeyValue, kind string) []attribute.KeyValue {
	if kind == "" {
		return about
	}
	e := attribute.String(errorType, kind)
	if span != nil {
		span.SetAttributes(e)
		span.SetStatus(codes.Error, kind)
	}
	return append(about, e)
}

// sessionOf returns the attributes of a request's connection.
func sessionOf(req mcp.Request) []attribute.KeyValue {
	about := []attribute.KeyValue{attribute.String(transport, "pipe")}
	if x := req.GetExtra(); x != nil && x.Header != nil {
		about[0] = attribute.String(transport, "tcp")
	}
	if s := req.GetSession(); s != nil && s.ID() != "" {
		about = append(about, attribute.String(sessionID, s.ID()))
	}
	if r, ok := req.(interface{ ProtocolVersion() string }); ok && r.ProtocolVersion() != "" {
		about = append(about, attribute.String(protocolVersion, r.ProtocolVersion()))
	}
	return about
}

// extract continues the trace of the client, with the allowed part of its baggage.
func (t *Telemetry) extract(ctx context.Context, meta mcp.Meta) context.Context {
	carrier := propagation.MapCarrier{}
	for _, k := range []string{"traceparent", "tracestate"} {
		if v, ok := meta[k].(string); ok {
			carrier[k] = v
		}
	}
	ctx = propagation.TraceContext{}.Extract(ctx, carrier)
	text, ok := meta["baggage"].(string)
	if !ok || len(t.baggage) == 0 {
		return ctx
	}
	all, err := baggage.Parse(text)
	if err != nil {
		return ctx
	}
	for _, m := range all.Members() {
		if !t.baggage[m.Key()] {
			all = all.DeleteMember(m.Key())
		}
	}
	return baggage.ContextWithBaggage(ctx, all)
}

// Run begins an execution. The returned function ends it, with its exit code and the number of
// calls that were repeated from its journal.
func (t *Telemetry) Run(ctx context.Context, id, who string) (context.Context, func(code, replayed int)) {
	ctx, span := t.tracer.Start(ctx, "execution", trace.WithAttributes(attribute.String(executionID, id), attribute.String(client, who)))
	return ctx, func(code, replayed int) {
		span.SetAttributes(attribute.Int(exitCode, code))
		if code != 0 && code != 3 {
			span.SetStatus(codes.Error, "exit code "+strconv.Itoa(code))
		}
		span.End()
		t.runs.Add(ctx, 1, metric.WithAttributes(attribute.Int("exit_code", code)))
		t.replayed.Add(ctx, int64(replayed))
	}
}

// Call begins a call of a server. The request must carry meta, so that the server's spans belong
// to the same trace. The returned function ends the call; kind is the kind of an error, or "" if
// there is a result. unsure means that it is unknown whether the call ran.
func (t *Telemetry) Call(ctx context.Context, server, tool string) (called context.Context, meta map[string]any, end func(result json.RawMessage, kind string, unsure bool)) {
	began := time.Now()
	about := []attribute.KeyValue{attribute.String(methodName, toolsCall), attribute.String(operationName, executeTool), attribute.String(toolName, tool), attribute.String(upstream, server)}
	ctx, span := t.tracer.Start(ctx, toolsCall+" "+tool, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(about...))
	carrier := propagation.MapCarrier{}
	propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}).Inject(ctx, carrier)
	meta = make(map[string]any, len(carrier))
	for k, v := range carrier {
		meta[k] = v
	}
	return ctx, meta, func(result json.RawMessage, kind string, unsure bool) {
		if unsure {
			t.unknown.Add(ctx, 1)
		}
		var r struct {
			IsError bool `json:"isError"`
		}
		if kind == "" && json.Unmarshal(result, &r) == nil && r.IsError {
			kind = toolError
		}
		about = failed(span, about, kind)
		span.End()
		t.called.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(about...))
	}
}

// Recorded counts a call that has ended, even if it was not sent. The decision is as in the audit
// record.
func (t *Telemetry) Recorded(server, class, status, decision string, took time.Duration) {
	ctx := context.Background()
	t.calls.Add(ctx, 1, metric.WithAttributes(attribute.String("server", server), attribute.String("class", class), attribute.String("status", status)))
	t.callSeconds.Record(ctx, took.Seconds(), metric.WithAttributes(attribute.String("server", server)))
	if words := strings.FieldsFunc(decision, func(r rune) bool { return r == ' ' || r == ',' }); len(words) > 0 {
		code := ""
		if len(words) > 1 {
			code = words[1]
		}
		t.decisions.Add(ctx, 1, metric.WithAttributes(attribute.String("effect", words[0]), attribute.String("code", code)))
	}
}

// QuotaRefused counts a call or an execution that a quota refused. The reason is "spent" or
// "unknown".
func (t *Telemetry) QuotaRefused(reason string) {
	t.quotas.Add(context.Background(), 1, metric.WithAttributes(attribute.String("reason", reason)))
}

// Decided measures the time of a person at the client to decide.
func (t *Telemetry) Decided(took time.Duration) {
	t.waitSeconds.Record(context.Background(), took.Seconds())
}
