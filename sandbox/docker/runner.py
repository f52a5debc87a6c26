"""Runs one Python program for a host that speaks frames on stdin and stdout.

The frames are those of the Go package sandbox/wire. This text is the argument of
python3 -c inside a container, which is what contains the program: nothing here
is a defence, and the host trusts nothing that comes out.
"""
import ast
import asyncio
import importlib.abc
import importlib.util
import inspect
import io
import json
import linecache
import os
import signal
import struct
import sys
import threading
import time
import traceback
import types

AGENT = "agent.py"
HEADER = struct.Struct(">cII")
EXIT_OK, EXIT_THREW, EXIT_REFUSED, EXIT_TIMEOUT = 0, 1, 2, 124
MAX_FRAMES = 12


class Wire:
    """The frames. Programs that print to the descriptors cannot break them."""

    def __init__(self):
        self.source, self.sink = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(2, 1)
        self.lock = threading.Lock()

    def read_exactly(self, n):
        parts = []
        while n:
            part = os.read(self.source, min(n, 1 << 20))
            if not part:
                os._exit(1)  # the host is gone
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    def read(self):
        kind, number, size = HEADER.unpack(self.read_exactly(HEADER.size))
        return kind, number, self.read_exactly(size)

    def send(self, kind, number=0, payload=b""):
        with self.lock:
            self.put(kind, number, payload)

    def put(self, kind, number, payload):
        rest = memoryview(HEADER.pack(kind, number, len(payload)) + payload)
        while rest:
            rest = rest[os.write(self.sink, rest):]


class Printer(io.RawIOBase):
    """What the program prints, gathered for a moment and sent in frames."""

    BYTES, SECONDS = 16 << 10, 0.05
    printed = False

    def __init__(self, wire, kind):
        self.wire, self.kind = wire, kind
        self.parts, self.size, self.sent = [], 0, 0.0
        self.guard = threading.Lock()

    def writable(self):
        return True

    def write(self, data):
        data = bytes(data)
        with self.guard:
            if data:
                Printer.printed = True
            self.parts.append(data)
            self.size += len(data)
            if self.size >= self.BYTES or time.monotonic() - self.sent > self.SECONDS:
                self.drain()
        return len(data)

    def drain(self):
        text, self.parts, self.size = b"".join(self.parts), [], 0
        self.sent = time.monotonic()
        for at in range(0, len(text), self.BYTES):
            self.wire.send(self.kind, 0, text[at:at + self.BYTES])

    def flush(self):
        with self.guard:
            self.drain()


class ToolError(Exception):
    """A call of a tool that failed."""

    server = tool = code = hint = None
    retryable = False

    def __init__(self, message="", **fields):
        super().__init__(message)
        self.message = message
        self.__dict__.update(fields)


class Refusal(Exception):
    """A program that does not start."""


class Host:
    """Makes the calls of the program."""

    def __init__(self, wire, limit):
        self.wire, self.limit = wire, limit
        self.lock, self.last, self.waiting = threading.Lock(), 0, {}
        self.classes = {"ToolError": ToolError}
        self.answered_by = None

    async def call(self, function, target, arguments):
        text = b"" if arguments is None else encode(arguments)
        if len(text) > self.limit:
            raise ToolError("argument of %s for %s is over the limit of %s (config: sandbox.maxResult): send it in parts"
                            % (size(len(text)), target[:200], size(self.limit)), code="argument_too_large")
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        with self.lock:
            self.last += 1
            number = self.last
            self.waiting[number] = (loop, answer, target or function)
        sys.stdout.flush()
        name, target = function.encode(), target.encode("utf-8", "replace")
        self.wire.send(b"C", number, struct.pack(">H", len(name)) + name + struct.pack(">I", len(target)) + target + text)
        try:
            return await answer
        finally:
            with self.lock:
                self.waiting.pop(number, None)

    def answer(self, kind, number, payload):
        with self.lock:
            loop, future, _ = self.waiting.pop(number, (None, None, None))
        if loop is None:
            return
        if kind == b"R":
            value = json.loads(payload) if payload else None
            settle = lambda: future.done() or future.set_result(value)
        else:
            error = self.error(json.loads(payload))
            settle = lambda: future.done() or future.set_exception(error)
        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:
            pass  # the program has closed its loop

    def error(self, told):
        name, fields = told.get("name") or "Error", told.get("fields") or {}
        if name not in self.classes:
            self.classes[name] = type(name, (ToolError,), {})
        return self.classes[name](told.get("message", ""), **fields)

    def waits_for(self):
        return next((name for _, _, name in list(self.waiting.values())), "")


class Functions:
    """Functions of the host under one name, such as tools.search(...)."""

    def __init__(self, host, name):
        self._host, self._name = host, name

    def __getattr__(self, method):
        if method.startswith("_"):
            raise AttributeError(method)

        async def function(*values, **options):
            target = ""
            if values and isinstance(values[0], str):
                target, values = values[0], values[1:]
            value = values[0] if values else None
            if options:
                value = {**(value or {}), **options}
            return await self._host.call(self._name + "." + method, target, value)

        function.__qualname__ = function.__name__ = self._name + "." + method
        return function


class Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the modules that came with the program."""

    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        if name in self.sources or name == "servers":
            return importlib.util.spec_from_loader(name, self, is_package=name == "servers")
        return None

    def exec_module(self, module):
        name = module.__name__
        if name in self.sources:
            exec(compile(self.sources[name], name.replace(".", "/") + ".py", "exec", dont_inherit=True), module.__dict__)


def size(n):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if n >= unit:
            return ("%.1f" % (n / unit)).removesuffix(".0") + " " + name
    return "%d bytes" % n


def plain(value):
    """Makes of a value that JSON does not have one that it has."""
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    if "__dataclass_fields__" in dir(type(value)):
        return {name: getattr(value, name) for name in type(value).__dataclass_fields__}
    for method, arguments in (("isoformat", ()), ("to_dict", ("records",)), ("to_dict", ()), ("tolist", ()), ("item", ())):
        if callable(getattr(value, method, None)) and not isinstance(value, type):
            try:
                return getattr(value, method)(*arguments)
            except TypeError:
                continue
    module, name = type(value).__module__, type(value).__name__
    if (module, name) == ("decimal", "Decimal"):
        return int(value) if value == value.to_integral_value() else float(value)
    if hasattr(value, "value") and hasattr(value, "name"):
        return value.value  # a member of an enumeration
    if hasattr(value, "__iter__"):
        return list(value)
    return str(value)


def finite(value):
    """Replaces the numbers that JSON does not have by null."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return value


def encode(value):
    def dumps(value, ascii):
        return json.dumps(value, ensure_ascii=ascii, allow_nan=False, default=plain, separators=(",", ":"))

    try:
        text = dumps(value, False)
    except ValueError as e:
        if "ircular" in str(e):
            raise
        text = dumps(finite(json.loads(json.dumps(value, default=plain))), False)
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        return dumps(json.loads(text), True).encode()


# What the program's text becomes.

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def here(node):
    """All nodes of the program's own scope, not those inside functions."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, SCOPES):
            yield from here(child)


def unfenced(code):
    lines = code.strip().splitlines()
    if len(lines) > 1 and lines[0].startswith("```") and lines[-1].strip() == "```":
        return "\n".join(lines[1:-1])
    return code


def nearest(name, names):
    import difflib
    close = difflib.get_close_matches(name, names, 3, 0.5) or sorted(names)[:10]
    return ", ".join(close)


def check_imports(tree, names):
    known = {n.split("/", 1)[1] for n in names if n.startswith("servers/")}

    def check(node, name):
        if name not in known and name != "*":
            have = "did you mean: " + nearest(name, known) if known else "no server is connected"
            raise Refusal("%s:%d:%d: there is no server module %r; %s" % (AGENT, node.lineno, node.col_offset + 1, name, have))

    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module == "servers":
                for alias in node.names:
                    check(node, alias.name)
            elif node.module.startswith("servers."):
                check(node, node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("servers."):
                    check(node, alias.name.split(".")[1])


def wrap(tree):
    """Puts a program that returns at its top level into a function."""
    nodes = list(here(tree))
    waits = any(isinstance(n, (ast.Await, ast.AsyncFor, ast.AsyncWith)) or isinstance(n, ast.comprehension) and n.is_async
                for n in nodes)
    annotated = {n.target.id for n in nodes if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names |= {n.name for n in nodes if isinstance(n, SCOPES[:3])}
    names |= {(a.asname or a.name).split(".")[0] for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}
    names |= {n.name for n in nodes if isinstance(n, ast.ExceptHandler) and n.name}
    future = [n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    outer = ast.parse(("async def" if waits else "def") + " __agent__():\n pass")
    names -= annotated | {"*"}
    outer.body[0].body = ([ast.Global(sorted(names))] if names else []) + [n for n in tree.body if n not in future]
    outer.body[:0] = future
    return ast.fix_missing_locations(outer)


def compile_agent(code, names):
    """Returns the program's code object, and whether it is in a function."""
    try:
        tree = ast.parse(code, AGENT)
        check_imports(tree, names)
        returns = any(isinstance(n, ast.Return) for n in here(tree))
        if returns:
            tree = wrap(tree)
        elif tree.body and isinstance(tree.body[-1], ast.Expr):
            last = tree.body[-1]
            tree.body[-1] = ast.copy_location(ast.Assign([ast.Name("__result__", ast.Store())], last.value), last)
            ast.fix_missing_locations(tree)
        return compile(tree, AGENT, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True), returns
    except SyntaxError as e:
        where = "%s:%d:%d" % (AGENT, e.lineno or 1, e.offset or 1)
        line = (e.text or "").rstrip()
        raise Refusal("%s: %s%s" % (where, e.msg, "\n  " + line.strip() if line.strip() else "")) from None
    except (ValueError, RecursionError, MemoryError) as e:
        raise Refusal("%s:1:1: %s" % (AGENT, e or type(e).__name__)) from None


# How a program ended, in words.

NETWORK = "there is no network here: the outside is reached through tools, as in await call_mcp_tool('github__list_issues', {...})"


def hint(error):
    import errno
    text = str(error)
    if getattr(error, "hint", None):
        return str(error.hint)
    if isinstance(error, ModuleNotFoundError):
        return "the standard library is here, other packages only if the image has them; " + NETWORK
    if isinstance(error, OSError) and (type(error).__name__ == "gaierror" or error.errno in (errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.ECONNREFUSED)):
        return NETWORK
    if "urlopen error" in text:
        return NETWORK
    if isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return "files can be written below /tmp only, and are gone after the run; keep values with store.set"
    if "coroutine' object" in text or "asyncio.run() cannot be called" in text:
        return "calls and async functions need await in front; await works at the top level, without asyncio.run"
    return ""


def describe(error):
    text = str(error)
    lines = [type(error).__qualname__ + (": " + text if text else "")]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == AGENT]
    frames.reverse()
    if len(frames) > MAX_FRAMES:
        frames[MAX_FRAMES - 2:-2] = [None]
    for f in frames:
        if f is None:
            lines.append("    …")
        elif f.name in ("<module>", "__agent__"):
            lines.append("    at %s:%d" % (AGENT, f.lineno))
        else:
            lines.append("    at %s (%s:%d)" % (f.name, AGENT, f.lineno))
    if isinstance(error, BaseException) and hasattr(error, "exceptions"):
        for inner in error.exceptions[:5]:
            lines.append("  " + describe(inner).replace("\n", "\n  "))
    if error.__cause__ is not None:
        lines.append("caused by: " + describe(error.__cause__))
    elif hint(error):
        lines.append("hint: " + hint(error))
    return "\n".join(lines)


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
        code, value, reason = EXIT_OK, None, ""
        try:
            value = self.execute()
            text = self.encode(value)
        except Refusal as e:
            code, text, reason = EXIT_REFUSED, b"", "%s\n0 tools called" % e
        except SystemExit as e:
            text = b""
            if e.code not in (None, 0):
                code, reason = EXIT_THREW, "SystemExit: %s" % e.code
        except BaseException as e:
            code, text, reason = EXIT_THREW, b"", describe(e)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.end(code, text, reason)

    def encode(self, value):
        if value is None:
            return b""
        text = encode(value)
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
        where = ""
        while frame and not where:
            if frame.f_code.co_filename == AGENT:
                where = " at %s:%d" % (AGENT, frame.f_lineno)
            frame = frame.f_back
        if not where and self.host.waits_for():
            where = " while waiting for " + self.host.waits_for()
        # The main thread itself may be sending: then the host ends it soon.
        if self.wire.lock.acquire(timeout=0.1):
            for p in (self.stdout, self.stderr):
                if p.parts:
                    self.wire.put(p.kind, 0, b"".join(p.parts))
            self.send_done(self.wire.put, EXIT_TIMEOUT, b"", "time limit of %g s reached%s" % (self.order["timeout_ns"] / 1e9, where))
            os._exit(0)

    def scope(self):
        """The module that the program is, with what is there without import."""
        host = self.host

        async def call_mcp_tool(tool, input=None, more=None, /, **arguments):
            if isinstance(input, str):
                tool, input = tool + "." + input, more
            if not isinstance(tool, str) or not (input is None or isinstance(input, dict)):
                raise TypeError("use it as in await call_mcp_tool('github__list_issues', {'owner': 'o'})")
            return await host.call("call", tool, {**(input or {}), **arguments})

        module = types.ModuleType("__main__")
        helpers, inner = types.ModuleType("helpers"), types.ModuleType("helpers.call_mcp_tool")
        helpers.__path__ = []
        names = {"call_mcp_tool": call_mcp_tool, "ToolError": ToolError}
        for m in (module, helpers, inner):
            m.__dict__.update(names)
        module.__dict__.update(asyncio=asyncio, json=json, __file__=AGENT,
                               **{n: Functions(host, n) for n in ("tools", "store", "results", "skills")})
        sys.modules.update({"__main__": module, "helpers": helpers, "helpers.call_mcp_tool": inner})
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


main()
