package top

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

// A client uses the HTTP interface of a broker like the console.
type client struct {
	http    *outbound.Client
	base    string // such as http://127.0.0.1:1234
	cookies []*http.Cookie
	key     string // of the session, sent in addition to its cookie
}

// maxAnswer bounds an answer, and one event, in bytes.
const maxAnswer = 16 << 20

// connect exchanges the token in the address of a console for a session.
func connect(ctx context.Context, address string) (*client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	c := &client{http: outbound.New(outbound.Options{Home: u, HomeOnly: true, MaxBytes: maxAnswer, Events: true}), base: outbound.Origin(u)}
	res, err := c.send(ctx, http.MethodPost, "/console/session", map[string]string{"token": strings.TrimPrefix(u.Fragment, "token=")})
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	c.cookies = res.Cookies()
	var session struct{ Key string }
	if err := json.NewDecoder(io.LimitReader(res.Body, 4<<10)).Decode(&session); err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	c.key = session.Key
	return c, nil
}

// send sends a request. A refusal is an error.
func (c *client) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, text)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for _, cookie := range c.cookies {
		req.AddCookie(cookie)
	}
	if c.key != "" {
		req.Header.Set("Broker-Console-Key", c.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, outbound.Cause(err)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		defer res.Body.Close()
		var problem struct{ Detail string }
		if json.NewDecoder(res.Body).Decode(&problem) != nil || problem.Detail == "" {
			problem.Detail = "the broker answers " + res.Status
		}
		return nil, errors.New(problem.Detail)
	}
	return res, nil
}

func (c *client) get(ctx context.Context, path string, v any) error {
	res, err := c.send(ctx, http.MethodGet, "/api/"+path, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(v)
}

func (c *client) post(ctx context.Context, path string, body any) error {
	res, err := c.send(ctx, http.MethodPost, "/api/"+path, body)
	if err == nil {
		err = res.Body.Close()
	}
	return err
}

// load reads the current state. The servers are read again whenever one changes.
func (c *client) load(ctx context.Context, now time.Time) (r record, err error) {
	var servers struct{ Servers []server }
	var executions struct{ Executions []execution }
	var calls struct{ Calls []call }
	var today struct {
		Saved struct{ Results int64 } `json:"tokens_saved"`
	}
	y, m, d := now.Date()
	midnight := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	err = errors.Join(c.get(ctx, "servers", &servers), c.get(ctx, "executions?limit=200", &executions), c.get(ctx, "calls?limit=1000", &calls),
		c.get(ctx, "stats?since="+url.QueryEscape(midnight.Format(time.RFC3339)), &today))
	if err != nil {
		return r, err
	}
	r.servers = servers.Servers
	r.add(news{Executions: executions.Executions, Calls: calls.Calls})
	r.savedTokens = today.Saved.Results
	r.waiting, err = c.waiting(ctx)
	return r, err
}

// waiting returns the runs that wait for a person, with their calls.
func (c *client) waiting(ctx context.Context) ([]run, error) {
	var list struct{ Runs []run }
	err := c.get(ctx, "approvals", &list)
	for i := range list.Runs {
		var one struct{ Calls []runCall }
		if err == nil {
			err = c.get(ctx, "runs/"+url.PathEscape(list.Runs[i].ID)+"?whole=true", &one)
		}
		list.Runs[i].calls = slices.DeleteFunc(one.Calls, func(c runCall) bool { return c.State != "asked" })
	}
	return slices.DeleteFunc(list.Runs, func(r run) bool { return len(r.calls) == 0 }), err
}

// follow calls event for each message of the stream until that ends.
func (c *client) follow(ctx context.Context, event func(name string, data []byte)) error {
	res, err := c.send(ctx, http.MethodGet, "/api/stream", nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	s := bufio.NewScanner(res.Body)
	s.Buffer(nil, maxAnswer)
	name := ""
	for s.Scan() {
		switch field, value, _ := strings.Cut(s.Text(), ": "); field {
		case "event":
			name = value
		case "data":
			event(name, []byte(value))
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("the stream of news: %w", err)
	}
	return errors.New("the stream of news has ended")
}
