"""Runs one Python program for a host that speaks frames on stdin and stdout.

It runs inside a container, which is what contains the program: nothing here is
a defence, and the host trusts nothing that comes out.
"""
import asyncio
import importlib
import inspect
import io
import json
import linecache
import os
import re
import signal
import struct
import sys
import threading
import types
from collections.abc import Mapping

from broker_host import SEPARATOR, Host, Modules, ToolError, namespaces, shown
from broker_report import describe
from broker_skills import Skills
from broker_source import AGENT, Refusal, compile_agent, unfenced
from broker_values import encode, identifier, size
from broker_waits import watch, whereabouts
from broker_wire import Printer, Wire

EXIT_OK, EXIT_THREW, EXIT_REFUSED, EXIT_STUCK, EXIT_TIMEOUT = 0, 1, 2, 13, 124


class Program:
    """One program and its end."""

    def __init__(self, wire, order):
        self.wire, self.order, self.notes = wire, order, []
        self.host = Host(wire, order["result_bytes"])
        self.stdout, self.stderr = Printer(wire, b"O"), Printer(wire, b"e")
        self.left, self.paused = order["timeout_ns"] / 1e9, False

    def run(self):
        """Runs the program, and ends the process."""
        sys.stdout, sys.stderr = (io.TextIOWrapper(p, "utf-8", "backslashreplace", write_through=True) for p in (self.stdout, self.stderr))
        signal.signal(signal.SIGALRM, self.late)
        signal.setitimer(signal.ITIMER_REAL, self.left)
        threading.Thread(target=self.listen, daemon=True).start()
        watch(self.host, self.stuck)
        code, value, reason = EXIT_OK, None, ""
        try:
            value = self.execute()
            text = self.encode(value)
        except Refusal as e:
            code, text, reason = EXIT_REFUSED, b"", "%s\n0 tools called" % e
        except SystemExit as e:
            text = b""
            if e.code not in (None, 0):
                code, reason = EXIT_THREW, "SystemExit: %s" % (e.code,)
        except BaseException as e:
            code, text, reason = EXIT_THREW, b"", describe(e)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.end(code, text, reason)

    def encode(self, value):
        if value is None:
            return b""
        text = encode(value)
        if isinstance(value, float) and value - value != 0:
            self.notes.append("%s was returned, which is null in JSON" % value)
        if len(text) > self.order["result_bytes"]:
            raise ValueError("result of %s is over the limit of %s (config: sandbox.maxResult): return less, or print a part of it"
                             % (size(len(text)), size(self.order["result_bytes"])))
        return text

    def end(self, code, text, reason):
        for stream in (sys.stdout, sys.stderr, self.stdout, self.stderr):
            try:
                stream.flush()
            except Exception:
                pass  # the program has closed or replaced it
        self.send_done(self.wire.send, code, text, reason)
        os._exit(0)

    def send_done(self, send, code, text, reason):
        header = json.dumps({"exit_code": code, "error": reason[:60000], "notes": self.notes[:100]}).encode()
        send(b"D", 0, struct.pack(">I", len(header)) + header + text)

    def listen(self):
        while True:
            kind, number, payload = self.wire.read()
            if kind == b"P":
                self.left, self.paused = signal.setitimer(signal.ITIMER_REAL, 0)[0], True
            elif kind == b"U":
                self.paused = False
                signal.setitimer(signal.ITIMER_REAL, max(self.left, 0.001))
            elif kind in (b"R", b"X"):
                self.host.answer(kind, number, payload)

    def late(self, signum, frame):
        """The time is up. It runs between two steps of the main thread."""
        if self.paused:
            return
        where = whereabouts(frame, self.host.waits_for())
        # The main thread itself may be sending: then the host ends it soon.
        if self.wire.lock.acquire(timeout=0.1):
            for p in (self.stdout, self.stderr):
                if p.parts:
                    self.wire.put(p.kind, 0, b"".join(p.parts))
            self.send_done(self.wire.put, EXIT_TIMEOUT, b"", "time limit of %g s reached%s" % (self.order["timeout_ns"] / 1e9, where))
            os._exit(0)

    def stuck(self, where):
        """Nothing is left that could wake the program."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.end(EXIT_STUCK, b"", "the program never settles: it waits%s, and no call, timer or thread is left that could wake it"
                 "\nhint: look for a future, a queue or an event that nobody sets" % where)

    def is_tool(self, name):
        """Whether a name is a tool's id for certain, and no server can be called that."""
        plain = lambda text: re.sub("_+", "_", identifier(text))
        return "__" in name and not any(plain(name).rstrip("_") in plain(m) for m in self.order.get("module_names") or [])

    def scope(self):
        """The module that the program is, with what is there without import."""
        host = self.host

        async def call_mcp_tool(tool, input=None, more=None, /, **arguments):
            if isinstance(input, str) and isinstance(tool, str) and not self.is_tool(tool):
                tool, input = tool + SEPARATOR + input, more
            if not isinstance(tool, str):
                raise TypeError("use it as in await call_mcp_tool('github__list_issues', {'owner': 'o'})")
            if not (input is None or isinstance(input, Mapping)):
                raise TypeError("the arguments of %s go by name, as in owner='o', or as one dict, and not as %s" % (shown(tool), type(input).__name__))
            return await host.call("call", tool, {**(input or {}), **arguments})

        async def retry(call, times=3, max_wait=30):
            if not callable(call):
                raise TypeError("retry takes a function, as in await retry(lambda: github.list_issues(owner='o'))")
            for n in range(min(max(int(times), 1), 10)):
                try:
                    return await call()
                except ToolError as e:
                    said = (e.retryAfterMs or 0) / 1000
                    if not e.retryable or n + 1 >= min(int(times), 10) or said > min(max_wait, 60):
                        raise
                    await asyncio.sleep(min(said or 0.5 * 2**n, max_wait, 60))

        module = types.ModuleType("__main__")
        helpers, inner = types.ModuleType("helpers"), types.ModuleType("helpers.call_mcp_tool")
        helpers.__path__ = []
        names = {"call_mcp_tool": call_mcp_tool, "ToolError": ToolError, "retry": retry}
        for m in (module, helpers, inner):
            m.__dict__.update(names)
        functions = namespaces(host)
        functions["skills"].__path__ = []  # an import from a skill does not hide the functions
        module.__dict__.update(functions, asyncio=asyncio, json=json, __file__=AGENT)
        sys.modules.update({"__main__": module, "helpers": helpers, "helpers.call_mcp_tool": inner, "skills": functions["skills"]})
        if self.order.get("files_dir"):
            sys.meta_path.insert(0, Skills(self.order["files_dir"]))
        modules = self.order.get("modules") or []
        sys.meta_path.insert(0, Modules({m["path"].replace("/", "."): m["source"] for m in modules}))
        for m in modules:
            name = m.get("global")
            if name and name not in module.__dict__:
                module.__dict__[name] = importlib.import_module(m["path"].replace("/", "."))
        return module.__dict__

    def execute(self):
        """Returns the program's result."""
        code = unfenced(self.order["code"])
        linecache.cache[AGENT] = (len(code), None, code.splitlines(True), AGENT)
        compiled, returns = compile_agent(code, self.order.get("module_names") or [])
        scope = self.scope()
        if compiled.co_flags & inspect.CO_COROUTINE:
            asyncio.run(self.until_quiet(eval(compiled, scope)))
        else:
            exec(compiled, scope)
        value = scope["__agent__"]() if returns else scope.get("__result__")
        if inspect.isawaitable(value):
            value = asyncio.run(self.until_quiet(value))
        return None if Printer.printed and not returns else value

    async def until_quiet(self, main):
        """Waits for main, and a little for the tasks that it has left running."""
        value = await main
        if inspect.isawaitable(value):
            value = await value
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self.order["grace_ns"] / 1e9)
            for task in tasks:
                if task in late:
                    self.notes.append("a task was still running at the end and was cancelled: await it")
                elif not task.cancelled() and task.exception():
                    self.notes.append("a task that nobody awaited failed: %s" % describe(task.exception()).splitlines()[0][:400])
        return value


def main():
    wire = Wire()
    kind, _, payload = wire.read()
    if kind != b"H" or json.loads(payload)["version"] != 1:
        sys.exit("the host speaks another version of the protocol")
    wire.send(b"Y")
    kind, _, payload = wire.read()
    if kind != b"E":
        sys.exit("the host sent no program")
    Program(wire, json.loads(payload)).run()
