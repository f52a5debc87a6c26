package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

// data are recorded tools, tasks, and the queries that agents and people typed for these.
type data struct {
	listings []discovery.Listing
	tasks    []query
	queries  map[string][]query // by the number of the task
}

// A query is a task too: then it needs all of its relevant tools, else any one.
type query struct {
	ID       string   `json:"id"`
	Query    string   `json:"query"`
	Relevant []string `json:"relevant"` // as server/tool
}

// number is that of the task, in ids such as task-4 and agent-4-1.
var number = regexp.MustCompile(`^(?:task|agent|step)-(\d+)`)

func (q query) number() string {
	if m := number.FindStringSubmatch(q.ID); m != nil {
		return m[1]
	}
	return ""
}

func (d *data) tools() (n int) {
	for _, l := range d.listings {
		n += len(l.Tools)
	}
	return n
}

func readData(dir, tools string) (*data, error) {
	d := &data{queries: map[string][]query{}}
	at := map[string]int{}
	err := eachLine(filepath.Join(dir, tools), func(t struct {
		Server string `json:"server"`
		discovery.ListedTool
	}) {
		i, known := at[t.Server]
		if !known {
			i = len(d.listings)
			at[t.Server] = i
			d.listings = append(d.listings, discovery.Listing{Server: t.Server})
		}
		d.listings[i].Tools = append(d.listings[i].Tools, t.ListedTool)
	})
	err = cmp.Or(err, eachLine(filepath.Join(dir, "tasks.jsonl"), func(q query) { d.tasks = append(d.tasks, q) }))
	err = cmp.Or(err, eachLine(filepath.Join(dir, "queries.jsonl"), func(q query) {
		if n := q.number(); n != "" {
			d.queries[n] = append(d.queries[n], q)
		}
	}))
	if err == nil && len(d.tasks) == 0 {
		err = errors.New("no tasks in tasks.jsonl")
	}
	return d, err
}

func eachLine[T any](path string, f func(T)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
		f(v)
	}
	return lines.Err()
}

// browsers are three servers with equivalent tools: the recorded tasks name them all.
var browsers = []string{"playwright", "playwright-mcp", "puppeteer"}

var browserTools = strings.NewReplacer("playwright_", "", "browser_", "", "puppeteer_", "", "take_screenshot", "screenshot", "type", "fill")

// steps are the calls of a task, each with the tools that do the same.
func (q query) steps() (list [][]string) {
	at := map[string]int{}
	for _, tool := range q.Relevant {
		server, name, _ := strings.Cut(tool, "/")
		if slices.Contains(browsers, server) {
			name = browserTools.Replace(name)
		}
		key := name
		if i, known := at[key]; known && !strings.HasPrefix(list[i][0], server+"/") {
			list[i] = append(list[i], tool)
			continue
		}
		at[key] = len(list)
		list = append(list, []string{tool})
	}
	return list
}

// A comparison is one task, with the client connected to the servers itself, and to the
// broker.
type comparison struct {
	task                     string
	calls, searches, browsed int
	direct, broker           cost
	even                     int
}

// compare asks a broker with these servers.
func (d *data) compare(ctx context.Context, a assumptions) (list []comparison, err error) {
	var all *asker
	if !a.needed {
		if all, err = newAsker(d.listings); err != nil {
			return nil, err
		}
		defer all.broker.Close()
	}
	for _, t := range d.tasks {
		k := all
		if a.needed {
			servers := map[string]bool{}
			for _, step := range t.steps() {
				server, _, _ := strings.Cut(step[0], "/")
				servers[server] = true
			}
			k, err = newAsker(slices.DeleteFunc(slices.Clone(d.listings), func(l discovery.Listing) bool { return !servers[l.Server] }))
			if err != nil {
				return nil, err
			}
		}
		c, err := k.task(ctx, t, d.queries[t.number()], a)
		if a.needed {
			k.broker.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.ID, err)
		}
		list = append(list, c)
	}
	return list, nil
}

// An asker has a broker, and the price of its definitions and of those it stands before.
type asker struct {
	broker                *broker.Broker
	definitions, brokered int
	listed                bool // list_servers was asked for this task
}

func newAsker(listings []discovery.Listing) (*asker, error) {
	b, err := broker.New(broker.Deps{Fixed: listings, Runner: inproc.New(), Version: "savings"}, broker.Settings{})
	if err != nil {
		return nil, err
	}
	k := &asker{broker: b}
	if k.definitions, err = api.DefinitionTokens(b.Catalog().Tools()); err == nil {
		k.brokered, err = surfaceTokens(listings)
	}
	return k, err
}

// surfaceTokens are those of the broker's tools and of its instructions. Both name the
// servers, which nothing connects to here.
func surfaceTokens(listings []discovery.Listing) (int, error) {
	var servers []upstream.Config
	for _, l := range listings {
		servers = append(servers, upstream.Config{Name: l.Server, URL: "http://127.0.0.1:1/"})
	}
	b, err := broker.New(broker.Deps{Runner: inproc.New(), Version: "savings"}, broker.Settings{Servers: servers})
	if err != nil {
		return 0, err
	}
	defer b.Close()
	s := b.Surface()
	tools, err := api.SurfaceTokens(s)
	if err != nil {
		return 0, err
	}
	instructions, err := api.JSONTokens(s.Instructions)
	return tools + instructions, err
}

func (k *asker) task(ctx context.Context, t query, typed []query, a assumptions) (c comparison, err error) {
	k.listed = false
	prompt, err := api.JSONTokens(t.Query)
	if err != nil {
		return c, err
	}
	c = comparison{task: t.ID, calls: len(t.steps())}
	var direct, brokered []exchange
	var tools []*discovery.Tool
	found := map[string]bool{}
	for _, step := range t.steps() {
		searches, browsed, err := k.find(ctx, step, append(slices.Clone(typed), query{Query: t.Query, Relevant: t.Relevant}), found)
		if err != nil {
			return c, err
		}
		c.searches, c.browsed, brokered = c.searches+len(searches)-browsed, c.browsed+browsed, append(brokered, searches...)
		tool, err := k.chosen(step, found)
		if err != nil {
			return c, err
		}
		tools = append(tools, tool)
		call, err := callTokens(tool.Name, sample(tool))
		if err != nil {
			return c, err
		}
		direct = append(direct, exchange{call, a.result})
	}
	scripts, err := k.scripts(tools, a)
	if err != nil {
		return c, err
	}
	c.direct = spend(k.definitions, prompt, direct, a.reread)
	c.broker = spend(k.brokered, prompt, append(brokered, scripts...), a.reread)
	c.even = breakEven(c.direct, c.broker, len(direct), a.reread)
	return c, nil
}

// find searches as the recorded agents did until a search shows a tool of the step, and
// then looks through the servers as a model can: list_servers, and a search there.
func (k *asker) find(ctx context.Context, step []string, typed []query, found map[string]bool) (list []exchange, browsed int, err error) {
	seen := func() bool { return slices.ContainsFunc(step, func(s string) bool { return found[s] }) }
	for _, q := range typed {
		if seen() {
			return list, 0, nil
		}
		if !slices.ContainsFunc(step, func(s string) bool { return slices.Contains(q.Relevant, s) }) || found["searched "+q.Query] {
			continue
		}
		found["searched "+q.Query] = true
		x, err := k.search(ctx, broker.SearchRequest{Query: q.Query}, found)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, x)
	}
	if seen() {
		return list, 0, nil
	}
	server, name, _ := strings.Cut(step[0], "/")
	before := len(list)
	if !k.listed {
		k.listed = true
		x, err := k.exchange("list_servers", map[string]any{}, k.broker.ListServers(""))
		if err != nil {
			return nil, 0, err
		}
		list = append(list, x)
	}
	x, err := k.exchange("list_servers", map[string]any{"server": server}, k.broker.ListServers(server))
	if err != nil {
		return nil, 0, err
	}
	y, err := k.search(ctx, broker.SearchRequest{Query: name, Server: server}, found)
	list = append(list, x, y)
	return list, len(list) - before, err
}

func (k *asker) search(ctx context.Context, req broker.SearchRequest, found map[string]bool) (exchange, error) {
	answer, err := k.broker.Search(ctx, req)
	if err != nil {
		return exchange{}, err
	}
	for _, hit := range answer.Tools {
		if t, ok := k.broker.Catalog().Tool(hit.Name); ok {
			found[t.Server+"/"+t.Name] = true
		}
	}
	args := map[string]any{"query": req.Query}
	if req.Server != "" {
		args["server"] = req.Server
	}
	return k.exchange("search_tools", args, answer)
}

func (k *asker) exchange(tool string, args map[string]any, answer any) (x exchange, err error) {
	if x.call, err = callTokens(tool, args); err == nil {
		x.answer, err = api.JSONTokens(answer)
	}
	return x, err
}

// chosen is the tool of a step that was found.
func (k *asker) chosen(step []string, found map[string]bool) (*discovery.Tool, error) {
	i := slices.IndexFunc(step, func(s string) bool { return found[s] })
	if i < 0 {
		return nil, fmt.Errorf("no search finds %s", step[0])
	}
	for _, t := range k.broker.Catalog().Tools() {
		if t.Server+"/"+t.Name == step[i] {
			return t, nil
		}
	}
	return nil, fmt.Errorf("there is no tool %s", step[i])
}

// maxResult is how many characters of a result one answer has.
const maxResult = 10_000

// scripts make the calls: in one script, or in one for each.
func (k *asker) scripts(tools []*discovery.Tool, a assumptions) (list []exchange, err error) {
	groups := [][]*discovery.Tool{tools}
	if a.each {
		groups = slices.Collect(slices.Chunk(tools, 1))
	}
	for _, group := range groups {
		var code strings.Builder
		answer := broker.ExecuteAnswer{Result: json.RawMessage(`0`), DurationMS: 1000, ToolsCalled: []bridge.Row{}}
		for i, t := range group {
			args, err := json.Marshal(sample(t))
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&code, "const r%d = await callMCPTool('%s', %s);\n", i, t.ID, args)
			answer.ToolsCalled = append(answer.ToolsCalled, bridge.Row{Tool: t.ID, Status: "ok", MS: 250})
		}
		x, err := k.exchange("execute_code", map[string]any{"code": code.String()}, answer)
		if err != nil {
			return nil, err
		}
		x.call += a.glue * len(group)
		// What an answer has no room for is read in more of them.
		read := int(float64(a.result*len(group)) * a.read)
		const room = maxResult / 4
		x.answer += min(read, room)
		list = append(list, x)
		for at := room; at < read; at += room {
			answer.ToolsCalled = nil
			more, err := k.exchange("execute_code", map[string]any{
				"code": fmt.Sprintf("return (await results.get('r_0123456789abcdef0123456789abcdef')).slice(%d, %d)", at*4, at*4+maxResult)}, answer)
			if err != nil {
				return nil, err
			}
			more.answer += min(read-at, room)
			list = append(list, more)
		}
	}
	return list, nil
}

// sample are the arguments that a tool requires, each with a short text.
func sample(t *discovery.Tool) map[string]any {
	var schema struct {
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(t.InputSchema, &schema) // a schema that is wrong requires nothing
	args := map[string]any{}
	for _, name := range schema.Required {
		args[name] = "some value"
	}
	return args
}

func callTokens(tool string, args map[string]any) (int, error) {
	return api.JSONTokens(map[string]any{"name": tool, "arguments": args})
}
