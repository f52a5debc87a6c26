"""The program's calls to its host, and the modules that came with it."""
import asyncio
import importlib.abc
import importlib.util
import inspect
import json
import re
import struct
import sys
import threading
import types

from broker_functions import FUNCTIONS
from broker_source import nearest
from broker_values import MAX_MEDIA_BYTES, MEDIA_MARK, encode, size, with_media


class ToolError(Exception):
    """A call of a tool that failed."""

    server = tool = code = hint = retryAfterMs = None
    retryable = mayHaveRun = False

    def __init__(self, message="", **fields):
        super().__init__(message)
        self.message = message
        self.__dict__.update(fields)


SEPARATOR = "\x1f"  # joins the two names of a tool, as sandbox.JoinTarget does


def shown(target):
    """A target as people write it."""
    return target.replace(SEPARATOR, ".", 1)


NOTHING = object()  # for an argument that was not given; None is null


class Host:
    """Makes the calls of the program."""

    def __init__(self, wire, limit):
        self.wire, self.limit = wire, limit
        self.lock, self.last, self.waiting = threading.Lock(), 0, {}
        self.classes = {"ToolError": ToolError}
        self.answered_by = None

    async def call(self, function, target, arguments):
        text = b"" if arguments is NOTHING else encode(arguments)
        if len(text) > self.limit:
            raise ToolError("argument of %s for %s is over the limit of %s (config: sandbox.maxResult): send it in parts"
                            % (size(len(text)), shown(target)[:200], size(self.limit)), code="argument_too_large")
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        with self.lock:
            self.last += 1
            number = self.last
            self.waiting[number] = (loop, answer, shown(target) or function)
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
            loop, future, name = self.waiting.get(number, (None, None, None))
        if loop is None:
            return
        value = error = None
        try:
            told = json.loads(payload) if payload else None
            if MEDIA_MARK in payload and len(payload) <= MAX_MEDIA_BYTES:
                told = with_media(told)
            value, error = (told, None) if kind == b"R" else (None, self.error(told))
        except Exception as e:  # an answer that cannot be read fails its own call only
            error = ToolError("the answer of %s cannot be read: %s" % (name, e))
        settle = lambda: future.done() or (future.set_exception(error) if error else future.set_result(value))
        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:
            pass  # the program has closed its loop
        with self.lock:  # last: until it is woken, a loop waits for this
            self.waiting.pop(number, None)

    def error(self, told):
        name, fields = told.get("name") or "Error", told.get("fields") or {}
        if name not in self.classes:
            self.classes[name] = type(name, (ToolError,), {})
        return self.classes[name](told.get("message", ""), **fields)

    def waits_for(self):
        """The names of the calls that have no answer yet."""
        return [name for _, _, name in list(self.waiting.values())]


def function(host, row):
    """Returns the function of the host that a row of the table describes."""
    takes, name = row["takes"], row["call"]
    example = "use it as in await " + re.sub(r"(\w+):", r"'\1':", row["example"])

    async def called(*values, **options):
        values, texts = list(values), {"key": 1, "texts": 2}.get(takes, 0)
        if len(values) < texts or not all(isinstance(t, str) and t for t in values[:texts]):
            raise TypeError(example)
        target = values.pop(0) if values and isinstance(values[0], str) else ""
        if options:
            at = 1 if takes == "texts" else 0
            given = values[at] if len(values) > at and isinstance(values[at], dict) else {}
            values[at:at + 1] = [{**given, **options}]
        if takes == "texts":
            return await host.call(name, target, values)
        return await host.call(name, target, values[0] if values else NOTHING)

    called.__qualname__ = called.__name__ = name
    return called


def namespaces(host):
    """The functions of the host, by the name of the module that has them."""
    modules = {}
    for row in FUNCTIONS:
        if "object" in row:
            module = modules.setdefault(row["object"], types.ModuleType(row["object"]))
            setattr(module, row["name"], function(host, row))
    return modules


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
            module.__getattr__ = lambda missing: absent(module, missing)


def functions(module):
    """The names of a server's functions."""
    return [n for n, value in vars(module).items() if inspect.iscoroutinefunction(value) and n != "call_mcp_tool"]


def absent(module, name):
    """Raises the error of a name that a server's module does not have."""
    text = "module %r has no function %r" % (module.__name__, name)
    if not name.startswith("__") and functions(module):
        text += "; " + nearest(name, functions(module))
    raise AttributeError(text)
