package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// commandTime bounds one command.
const commandTime = 10 * time.Minute

// commands are what a user types after init.
var commands = [][]string{
	{"servers", "list"},
	{"search", "read", "a", "file"},
	{"search", "look", "something", "up", "on", "the", "web"},
	{"tools", "list"},
	{"tools", "show", "filesystem__read_text_file"},
	{"pins", "list"},
	{"pins", "diff", "everything"},
	{"doctor"},
}

// A row is one command and its time.
type row struct {
	name string
	took time.Duration
	code int
}

// A column is what one build did.
type column struct {
	program string
	works   int      // servers that worked before init
	lost    []string // those of them that no client reaches afterwards
	tools   int      // tools that the broker knows in the end
	rows    []row
}

// measure plays the first hour with a build.
func measure(ctx context.Context, h *home, program string, works map[string]bool) (*column, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	c := &column{program: program}
	if err := c.time(ctx, h, "", "init", "--yes", "--no-console"); err != nil {
		return nil, err
	}
	for _, args := range commands {
		if err := c.time(ctx, h, "", args...); err != nil {
			return nil, err
		}
	}
	stop, err := serve(ctx, h, program)
	if err != nil {
		return nil, err
	}
	defer stop()
	for _, args := range commands {
		if err := c.time(ctx, h, ", a client connected", args...); err != nil {
			return nil, err
		}
	}
	return c, c.count(ctx, h, works)
}

// command returns a command of the build, as the user of the home types it.
func (h *home) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = h.project, h.environ()
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// time runs a command and adds its row; what it prints is kept in the home.
func (c *column) time(ctx context.Context, h *home, note string, args ...string) error {
	name := strings.Join(args, " ") + note
	out, err := os.Create(filepath.Join(h.dir, fmt.Sprintf("output-%02d", len(c.rows))))
	if err != nil {
		return err
	}
	defer out.Close()
	bounded, stop := context.WithTimeout(ctx, commandTime)
	defer stop()
	cmd := h.command(bounded, c.program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	begun := time.Now()
	err = cmd.Run()
	if cmd.ProcessState == nil {
		return err
	}
	r := row{name, time.Since(begun), cmd.ProcessState.ExitCode()}
	c.rows = append(c.rows, r)
	fmt.Fprintf(os.Stderr, "%s: %s: %.1f s, exit code %d\n", filepath.Dir(c.program), r.name, r.took.Seconds(), r.code)
	return ctx.Err()
}

// serve connects a client, which stays until stop is called.
func serve(ctx context.Context, h *home, program string) (stop func(), err error) {
	cmd := h.command(ctx, program, "serve")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		_ = h.command(ctx, program, "daemon", "stop").Run()
	}
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"firsthour","version":"1"}}}`+"\n")
	if err == nil {
		_, err = out.Read(make([]byte, 1<<16))
	}
	if err != nil {
		stop()
	}
	return stop, err
}

// count compares what worked before with what the broker and the clients have now.
func (c *column) count(ctx context.Context, h *home, works map[string]bool) error {
	text, err := os.ReadFile(filepath.Join(h.dir, ".config", "broker", "servers.json"))
	if err != nil {
		return err
	}
	var config struct {
		Servers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	var list bytes.Buffer
	cmd := h.command(ctx, c.program, "servers", "list", "--json")
	cmd.Stdout = &list
	_ = cmd.Run() // its exit code says that some servers failed
	var known struct {
		Servers []struct {
			Name  string
			Tools int `json:"tool_count"`
		}
	}
	if err := json.Unmarshal(list.Bytes(), &known); err != nil {
		return err
	}
	tools := map[string]int{}
	for _, s := range known.Servers {
		tools[s.Name] = s.Tools
		c.tools += s.Tools
	}
	for _, e := range h.entries {
		if !works[e.key()] {
			continue
		}
		c.works++
		found := h.stays(e)
		for name, s := range config.Servers {
			same := strings.HasSuffix(strings.Join(append([]string{s.Command}, s.Args...), " "), strings.TrimPrefix(strings.Join(e.command, " "), "npx -y "))
			if same && s.Env["MEMORY_FILE_PATH"] == e.env["MEMORY_FILE_PATH"] && tools[name] > 0 {
				found = true
			}
		}
		if !found {
			c.lost = append(c.lost, e.key())
		}
	}
	return nil
}

// stays reports whether the client's file has the entry still.
func (h *home) stays(e entry) bool {
	for name, text := range files {
		if !strings.Contains(text, `"`+e.name+`"`) && !strings.Contains(text, "mcp_servers."+e.name) || clientOf(name) != e.client {
			continue
		}
		now, err := os.ReadFile(filepath.Join(h.dir, name))
		last := e.command[len(e.command)-1]
		return err == nil && (strings.Contains(string(now), `"`+last+`"`))
	}
	return false
}

// clientOf returns the client that reads the file.
func clientOf(file string) string {
	for part, client := range map[string]string{".claude": "claude-code", ".cursor": "cursor", "Code": "vscode", ".codex": "codex", ".gemini": "gemini", "opencode": "opencode"} {
		if strings.Contains(file, part) {
			return client
		}
	}
	return ""
}

// printTable prints a row for each command and a column for each build.
func printTable(w io.Writer, columns []*column) {
	line := func(name string, cell func(*column) string) {
		fmt.Fprintf(w, "| %s |", name)
		for _, c := range columns {
			fmt.Fprintf(w, " %s |", cell(c))
		}
		fmt.Fprintln(w)
	}
	line("", func(c *column) string { return filepath.Dir(c.program) })
	line("---", func(*column) string { return "--:" })
	for i := range columns[0].rows {
		line("`broker "+strings.Replace(columns[0].rows[i].name+"`", ", a client connected`", "`, a client connected", 1), func(c *column) string { return fmt.Sprintf("%.1f s", c.rows[i].took.Seconds()) })
	}
	line("servers that worked before, and do not after", func(c *column) string { return fmt.Sprintf("%d of %d", len(c.lost), c.works) })
	line("tools", func(c *column) string { return fmt.Sprint(c.tools) })
	for _, c := range columns {
		fmt.Fprintf(w, "\n%s lost: %s\n", filepath.Dir(c.program), strings.Join(c.lost, ", "))
	}
}
