package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/attack"
	"github.com/mcpbroker/mcpbroker/sandbox/sandboxtest"
)

func newTestPython(t *testing.T) sandbox.Runner {
	t.Helper()
	needImage(t, pythonImage)
	r := NewPython(&Options{Image: testImage})
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// serversGitHub is what codegen writes for a server, in short.
const serversGitHub = `from __future__ import annotations
from typing import Any
from helpers.call_mcp_tool import call_mcp_tool

async def list_issues(input: Any | None = None, /, **arguments: Any) -> Any:
    """Lists them."""
    return await call_mcp_tool("github__list_issues", input, **arguments)

listIssues = list_issues
`

// answer is a host that echoes, and has a tool that fails.
func answer(_ context.Context, c sandbox.Call) (json.RawMessage, error) {
	switch {
	case strings.HasSuffix(c.Target, "__half"):
		return json.RawMessage("["), nil
	case strings.HasSuffix(c.Target, "__fail"):
		return nil, &sandbox.CallError{Name: "ToolError", Message: "no such repository", Fields: json.RawMessage(`{"server":"github","code":"not_found","hint":"look for it"}`)}
	}
	raw, err := json.Marshal(map[string]any{"func": c.Func, "id": c.Target, "args": c.Args})
	return raw, err
}

func TestPythonPrograms(t *testing.T) {
	r := newTestPython(t)
	for _, tt := range []programCase{
		{name: "the last expression is the result", code: "x = 20\nx + 1", value: "21"},
		{name: "unless something was printed", code: "print('hello')\n1", stdout: "hello\n"},
		{name: "return at the top level", code: "import math\nfor i in range(5):\n    if i == 3:\n        return {'i': i, 'pi': math.floor(math.pi)}", value: `{"i":3,"pi":3}`},
		{name: "return after printing", code: "print('x')\nreturn 1", value: "1", stdout: "x\n"},
		{name: "functions see what a program that returns has set", code: "n = 1\ndef f():\n    global n\n    n += 1\n    return n\nf()\nreturn [f(), n]", value: "[3,3]"},
		{name: "a call by id", code: "await call_mcp_tool('github__get', {'n': 12345678901234567890})", value: `{"args":{"n":12345678901234567890},"func":"call","id":"github__get"}`},
		{name: "a call by server and tool", code: "(await call_mcp_tool('github', 'get', {}))['id']", value: `"github\u001fget"`},
		{name: "helpers can be imported", code: "from helpers.call_mcp_tool import call_mcp_tool as c\nfrom helpers import ToolError\n(await c('a__b'))['args']", value: "{}"},
		{name: "a server's module", code: "from servers import github\n(await github.list_issues(owner='o', state='open'))['args']", value: `{"owner":"o","state":"open"}`},
		{name: "a function of a server's module", code: "from servers.github import list_issues\nreturn (await list_issues({'owner': 'ü'}))['id']", value: `"github__list_issues"`},
		{name: "a server's name is in scope", code: "(await github.listIssues())['id']", value: `"github__list_issues"`},
		{name: "asyncio.run is fine too", code: "import asyncio\nasync def main():\n    return (await call_mcp_tool('a__b'))['id']\nif __name__ == '__main__':\n    print(asyncio.run(main()))", stdout: "a__b\n"},
		{name: "a coroutine as result is awaited", code: "async def main():\n    return 5\nmain()", value: "5"},
		{name: "gather", code: "import asyncio\nr = await asyncio.gather(*(call_mcp_tool('a__b', i=i) for i in range(5)))\n[x['args']['i'] for x in r]", value: "[0,1,2,3,4]"},
		{name: "a task left running is awaited", code: "import asyncio\nt = asyncio.create_task(call_mcp_tool('a__b'))\nawait asyncio.sleep(0)\nNone", value: ""},
		{name: "a tool's error", code: "try:\n    await call_mcp_tool('github__fail')\nexcept ToolError as e:\n    r = [e.message, str(e), e.server, e.code, e.retryable]\nr", value: `["no such repository","no such repository","github","not_found",false]`},
		{name: "a tool's error that nobody catches", code: "def f():\n    return call_mcp_tool('github__fail')\nx = 1\nawait f()", exit: 1, says: "ToolError: no such repository\n    at agent.py:4\nhint: look for it"},
		{name: "an error has its lines", code: "def f(x):\n    return 1 / x\n\nf(0)", exit: 1, says: "ZeroDivisionError: division by zero\n    at f (agent.py:2)\n    at agent.py:4"},
		{name: "lines are right in a program that returns", code: "a = 1\nif a:\n    raise ValueError('bad')\nreturn a", exit: 1, says: "ValueError: bad\n    at agent.py:3"},
		{name: "a syntax error", code: "x = 1\nif x\n    y", exit: 2, says: "agent.py:2:5: expected ':'"},
		{name: "an unknown server", code: "print('ran')\nfrom servers import githb", exit: 2, says: "there is no server module 'githb'; did you mean: github\n0 tools called"},
		{name: "a function that a server does not have", code: "await github.list_isues()", exit: 1, says: "module 'servers.github' has no function 'list_isues'; did you mean: list_issues"},
		{name: "also in an import", code: "from servers.github import lst_issues", exit: 1, says: "hint: did you mean: list_issues"},
		{name: "arguments that have no names", code: "await github.list_issues('o')", exit: 1, says: "TypeError: the arguments of github__list_issues go by name, as in owner='o', or as one dict, and not as str"},
		{name: "several of them", code: "await github.list_issues('o', 'r')", exit: 1, says: "hint: functions of servers take their arguments by name"},
		{name: "nor in a call by id", code: "await call_mcp_tool('github__get', 'o')", exit: 1, says: "the arguments of github__get go by name"},
		{name: "a server whose name has the mark of ids", code: "(await call_mcp_tool('my__shop', 'get'))['id']", value: `"my__shop\u001fget"`},
		{name: "whose module has another name", code: "[(await call_mcp_tool(s, 'b__c.d'))['id'] for s in ('my__shop', 'my____shop', 'my-shop__')]", value: `["my__shop\u001fb__c.d","my____shop\u001fb__c.d","my-shop__\u001fb__c.d"]`},
		{name: "an error names both", code: "await call_mcp_tool('github', 'get', 1)", exit: 1, says: "the arguments of github.get go by name"},
		{name: "what a signal sets", code: "import asyncio, os, signal, subprocess\nloop = asyncio.get_running_loop()\nkey = loop.create_future()\nsignal.signal(signal.SIGUSR2, lambda *a: loop.call_soon_threadsafe(key.set_result, 'set'))\nsubprocess.Popen('sleep 0.1; kill -USR2 %d' % os.getpid(), shell=True)\nprint(await key)", stdout: "set\n"},
		{name: "what nobody sets", code: "import asyncio\nasync def f(q):\n    return await q.get()\n\nprint('a')\nawait call_mcp_tool('a__b')\nawait f(asyncio.Queue())", stdout: "a\n", exit: sandbox.ExitStuck,
			says: "the program never settles: it waits at agent.py:3, and no call, timer or thread is left"},
		{name: "in asyncio.run too", code: "import asyncio\nasync def main():\n    await asyncio.gather(asyncio.Event().wait())\nasyncio.run(main())", exit: sandbox.ExitStuck, says: "it waits at agent.py:3, and"},
		{name: "a thread wakes the program", code: "import asyncio, time\nr = await asyncio.to_thread(lambda: time.sleep(0.3) or 1)\nr", value: "1"},
		{name: "so does one that it has started itself", code: `import asyncio, threading, time
loop, answer = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
threading.Thread(target=lambda: (time.sleep(0.3), loop.call_soon_threadsafe(answer.set_result, 2))).start()
await answer`, value: "2"},
		{name: "and a process", code: "import asyncio\np = await asyncio.create_subprocess_exec('python3', '-c', 'import time; time.sleep(0.3)')\nawait p.wait()", value: "0"},
		{name: "and a call that another task waits for", code: "import asyncio\ne, got = asyncio.Event(), []\nasync def f():\n    got.append((await call_mcp_tool('a__b'))['id'])\n    e.set()\nt = asyncio.create_task(f())\nawait e.wait()\ngot[0]", value: `"a__b"`},
		{name: "a package that is not there", code: "import requests", exit: 1, says: "hint: the standard library is here"},
		{name: "no network", code: "import urllib.request\nurllib.request.urlopen('http://10.0.0.1', timeout=2)", exit: 1, says: "hint: there is no network here"},
		{name: "a forgotten await", code: "r = call_mcp_tool('a__b')\nr['id']", exit: 1, says: "need await in front"},
		{name: "an error that raises when it is described", code: "class Bad(Exception):\n    def __str__(self): raise ValueError\nraise Bad()", exit: 1, says: "Bad: an error that cannot be described"},
		{name: "an answer that cannot be read fails its own call", code: "try:\n    await call_mcp_tool('a__half')\nexcept ToolError as e:\n    r = [str(e)[:36], (await call_mcp_tool('a__b'))['id']]\nr", value: `["the answer of a__half cannot be read","a__b"]`},
		{name: "an exit", code: "import sys\nprint('a')\nsys.exit(0)", stdout: "a\n"},
		{name: "an exit with a code", code: "import sys\nsys.exit('gave up')", exit: 1, says: "SystemExit: gave up"},
		{name: "an exit with several", code: "import sys\nsys.exit((1, 2))", exit: 1, says: "SystemExit: (1, 2)"},
		{name: "stderr", code: "import sys\nprint('oops', file=sys.stderr)", says: "oops"},
		{name: "host functions", code: "[(await tools.search('issues', limit=2))['func'], (await store.set('k', [1]))['args']]", value: `["tools.search",[1]]`},
		{name: "values that JSON does not have", code: "import datetime, decimal, dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\n[{1}, float('nan'), datetime.date(2026, 1, 2), decimal.Decimal('1.5'), P(2), b'b', range(2), '\\ud800']",
			value: `[[1],null,"2026-01-02",1.5,{"x":2},"b",[0,1],"\ud800"]`},
		{name: "fenced code", code: "```python\n1 + 1\n```", value: "2"},
		{name: "descriptors cannot break the frames", code: "import os\nos.write(1, b'D' * 100)\nos.system('true')\nos.read(0, 10)\n'fine'", value: `"fine"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.try(t, r, sandbox.Request{
				Language: sandbox.Python, Call: answer,
				Modules:     []sandbox.Module{{Path: "servers/github", Source: serversGitHub, Global: "github"}},
				ModuleNames: []string{"servers/github", "servers/slack", "servers/my__shop"},
			})
		})
	}
}

// Hostile programs in Python end, get nothing, and the next one runs.
func TestPythonIsContained(t *testing.T) {
	r := newTestPython(t)
	for _, tt := range []programCase{
		{name: "an endless loop says its line", code: "x = 1\nwhile True:\n    pass", exit: sandbox.ExitTimeout, says: "time limit of 2 s reached at agent.py:"},
		{name: "a loop that catches everything", code: "while True:\n    try:\n        while True: pass\n    except BaseException: pass", exit: sandbox.ExitTimeout, says: "time limit of 2 s"},
		{name: "a loop that takes the signal away", code: "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass", exit: sandbox.ExitTimeout, says: "time limit of 2 s"},
		{name: "a slow call is told", code: "await call_mcp_tool('a__slow')", exit: sandbox.ExitTimeout, says: "while waiting for a__slow at agent.py:1"},
		{name: "a sleep is no loop", code: "import time\ntime.sleep(100)", exit: sandbox.ExitTimeout, says: "time limit of 2 s reached at agent.py:2 (processor time: "},
		{name: "nor is one that is awaited", code: "import asyncio\nasync def f():\n    await asyncio.sleep(100)\nawait f()", exit: sandbox.ExitTimeout, says: "time limit of 2 s reached while waiting at agent.py:3 (processor time: "},
		{name: "nor are many", code: "import asyncio\n\nawait asyncio.gather(asyncio.sleep(100), asyncio.sleep(101))", exit: sandbox.ExitTimeout, says: "hint: it was waiting, not computing"},
		{name: "memory", code: "a = []\nwhile True:\n    a.append(bytearray(1 << 20))", exit: sandbox.ExitMemory, says: "memory limit of 128 MiB"},
		{name: "processes", code: "import os, time\ntry:\n    while True:\n        if os.fork() == 0:\n            time.sleep(1000)\nexcept OSError as e:\n    r = type(e).__name__\nr", value: `"BlockingIOError"`},
		{name: "files, network and rights", code: `import os, socket
got = []
def attempt(name, f):
    try:
        f()
        got.append(name)
    except OSError:
        pass
attempt('write', lambda: open('/x', 'w'))
attempt('write etc', lambda: open('/etc/x', 'w'))
attempt('network', lambda: socket.create_connection(('8.8.8.8', 53), 1))
attempt('root', lambda: os.setuid(0))
attempt('chroot', lambda: os.chroot('/tmp'))
attempt('execute', lambda: (open('/tmp/x', 'w').write('#!/usr/bin/python3'), os.chmod('/tmp/x', 0o755), os.execv('/tmp/x', ['x'])))
attempt('mount', lambda: os.listdir('/var/run/docker.sock'))
[got, os.getuid(), sorted(n for _, n in socket.if_nameindex()), 'HOME' in os.environ and len(os.environ) < 12]`, value: `[[],65534,["lo"],true]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.try(t, r, sandbox.Request{
				Language: sandbox.Python, Limits: sandbox.Limits{Timeout: 2 * time.Second, MemoryBytes: 128 << 20},
				Call: func(ctx context.Context, _ sandbox.Call) (json.RawMessage, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				},
			})
		})
	}
	res, err := r.Run(t.Context(), sandbox.Request{Language: sandbox.Python, Code: "1 + 1"})
	if err != nil || string(res.Value) != "2" {
		t.Errorf("afterwards: %+v, %v", res, err)
	}
}

// Many programs at once, in few containers at one time.
func TestManyAtOnce(t *testing.T) {
	sandboxtest.Turns(t, newTestPython, 16, sandbox.Python, func(n int) string {
		return fmt.Sprintf(`(await call_mcp_tool("demo__echo", i=%d))["i"]`, n)
	})
}

func TestPythonAttacks(t *testing.T) {
	sandboxtest.Attacks(t, newTestPython, attack.Python, sandboxtest.Containment, sandboxtest.SlowStart)
}

func TestWithoutAnImagePythonIsRefused(t *testing.T) {
	needEngine(t)
	r := NewPython(&Options{Image: "mcpbroker/sandbox-python:none"})
	defer r.Close()
	if _, err := r.Run(t.Context(), sandbox.Request{Language: sandbox.Python, Code: "1"}); !errors.Is(err, ErrNoImage) {
		t.Errorf("error %v, want %v", err, ErrNoImage)
	}
	res, err := r.Run(t.Context(), sandbox.Request{Language: sandbox.JavaScript, Code: "1"})
	if err != nil || res.ExitCode != sandbox.ExitRefused {
		t.Errorf("JavaScript: %+v, %v; want a refusal", res, err)
	}
}
