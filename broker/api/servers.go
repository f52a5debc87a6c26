package api

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/redact"
	"github.com/mcpbroker/mcpbroker/state"
)

// statusDisabled is the status of a disabled server of the config.
const statusDisabled = "disabled"

// A ServerConfig changes the servers of a config like the commands servers add, enable
// and disable.
type ServerConfig interface {
	// Disabled returns the servers that are disabled, with name, description and
	// transport.
	Disabled() []broker.ServerInfo
	// Add adds a server. The notes say how to move its secrets out of the file. An
	// error describes what is wrong with the server or the file.
	Add(n NewServer) (notes []string, err error)
	// Enable enables or disables a server.
	Enable(name string, on bool) error
}

// A NewServer is a server to add, with a command or a URL.
type NewServer struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Command     string            `json:"command,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	URL         string            `json:"url,omitempty"`
	Type        string            `json:"type,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Disabled    bool              `json:"disabled,omitempty"`
}

// An AddedServer is the answer to a NewServer.
type AddedServer struct {
	Server string   `json:"server"`
	Notes  []string `json:"notes,omitempty"`
}

// disabled returns rows for the disabled servers that rows does not contain.
func (s *server) disabled(rows []ServerRow) []ServerRow {
	if s.o.Servers == nil {
		return nil
	}
	var list []ServerRow
	for _, i := range s.o.Servers.Disabled() {
		if slices.ContainsFunc(rows, func(r ServerRow) bool { return r.Name == i.Name }) {
			continue
		}
		i.Status, i.Description = statusDisabled, redact.Text(gate.Line(i.Description))
		list = append(list, ServerRow{ServerInfo: i})
	}
	return list
}

// namedTools is the number of tools that describe a server without a description.
const namedTools = 3

// describe sets the description of servers without one to the names of their first
// tools.
func (s *server) describe(rows []ServerRow) {
	of := make(map[string][]string)
	for _, t := range s.o.Reader.Broker.Catalog().Tools() {
		of[t.Server] = append(of[t.Server], gate.Name(t.Name))
	}
	for i := range rows {
		names := of[rows[i].Name]
		if rows[i].Description != "" || len(names) == 0 {
			continue
		}
		rows[i].Description = "Tools: " + strings.Join(names[:min(len(names), namedTools)], ", ")
		if more := len(names) - namedTools; more > 0 {
			rows[i].Description += fmt.Sprintf(" and %d more", more)
		}
	}
}

func (s *server) listServers(r *http.Request) (int, any, error) {
	list := s.o.Reader.Servers(r.Context(), "")
	s.describe(list.Servers)
	list.Servers = append(list.Servers, s.disabled(list.Servers)...)
	return http.StatusOK, list, nil
}

func (s *server) showServer(r *http.Request) (int, any, error) {
	name := r.PathValue("name")
	d, ok, err := s.o.Reader.Server(r.Context(), name)
	if err != nil || ok {
		rows := []ServerRow{d.Server}
		s.describe(rows)
		d.Server = rows[0]
		return answered(d, err)
	}
	for _, row := range s.disabled(nil) {
		if row.Name == name {
			d.Server, d.Use, d.Stderr = row, []state.ToolStats{}, []string{}
			return answered(d, nil)
		}
	}
	return 0, nil, notFound("server", name, ": /api/servers lists them")
}

func (s *server) addServer(r *http.Request) (int, any, error) {
	var n NewServer
	if err := readBody(r, &n); err != nil {
		return 0, nil, err
	}
	var notes []string
	err := s.changeServer(r, n.Name, "added", func(c ServerConfig) (err error) {
		notes, err = c.Add(n)
		return err
	})
	return answered(AddedServer{n.Name, notes}, err)
}

func (s *server) switchServer(r *http.Request) (int, any, error) {
	on, err := readSwitch(r)
	if err != nil {
		return 0, nil, err
	}
	name, done := r.PathValue("name"), map[bool]string{true: "enabled", false: "disabled"}[on]
	err = s.changeServer(r, name, done, func(c ServerConfig) error { return c.Enable(name, on) })
	return answered(map[string]any{"server": name, "enabled": on}, err)
}

// changeServer changes the config and records the change or the attempt.
func (s *server) changeServer(r *http.Request, name, done string, change func(ServerConfig) error) error {
	if s.o.Servers == nil {
		return newProblem(http.StatusNotImplemented, "no_config", "this broker has no config file to change")
	}
	err := change(s.o.Servers)
	e := state.Event{Kind: state.EventServers, Server: gate.Cut(gate.Line(name), 200), Client: clientOf(r), Detail: done, Failed: err != nil}
	if err != nil {
		e.Detail = "not " + done + ": " + strings.TrimSpace(gate.Line(err.Error()))
	}
	s.o.Note(e)
	if _, file := errors.AsType[*fs.PathError](err); err != nil && !file {
		err = newProblem(http.StatusUnprocessableEntity, "bad_server", "%s", gate.Cut(s.o.Library().Hider()(err.Error()), 2000))
	}
	return err
}
