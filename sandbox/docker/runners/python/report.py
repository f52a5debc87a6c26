"""How a program ended, in words."""
import ast
import errno
import linecache
import sys
import traceback

from broker_functions import MEDIA
from broker_host import functions
from broker_source import AGENT, nearest
from broker_values import Media

MAX_FRAMES = 12
MAX_KEYS = 8
NETWORK = "there is no network here: the outside is reached through tools, as in await call_mcp_tool('github__list_issues', {...})"


def whole(node, scope):
    """The value of an expression that is made of names and constant keys alone."""
    if isinstance(node, ast.Name):
        return scope[node.id]
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return whole(node.value, scope)[node.slice.value]
    raise LookupError


def of_key(error):
    """The text of x in x[key], and its value, where that failed."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    code, frame = trace.tb_frame.f_code, trace.tb_frame
    if code.co_filename != AGENT:
        raise LookupError
    line, end, start, stop = list(code.co_positions())[trace.tb_lasti // 2]
    text = "\n".join(linecache.getlines(AGENT)[line - 1:end]).encode()
    node = ast.parse(text[start:stop].decode(), mode="eval").body
    if line != end or not isinstance(node, ast.Subscript):
        raise LookupError
    return ast.unparse(node.value), whole(node.value, {**frame.f_globals, **frame.f_locals})


def what(name, value):
    """Describes a value that lacks the key or attribute that was read."""
    if isinstance(value, dict):
        keys = [str(k)[:60] for k in list(value)[:MAX_KEYS]]
        return "%s is a dict with %s" % (name, ", ".join(keys) + (" and %d more" % (len(value) - MAX_KEYS) if len(value) > MAX_KEYS else "")) if keys else "%s is an empty dict" % name
    if isinstance(value, str):
        return "%s is a text: use it as it is" % name
    if isinstance(value, list):
        kinds = {str(v.get("type")) if isinstance(v, dict) and "type" in v else type(v).__name__ for v in value[:MAX_KEYS]}
        return "%s is a list of %d (%s): take one, as in %s[0]" % (name, len(value), ", ".join(sorted(k[:60] for k in kinds)), name) if value else "%s is an empty list" % name
    return ""


def at_hand(error):
    """The kind of the value without such a key or attribute; "" if it is unknown."""
    try:
        if isinstance(error, AttributeError) and type(error.obj) in (dict, str, list) and isinstance(error.name, str):
            said = what("it", error.obj)
            return "%s: write x[%r]" % (said, error.name) if error.name in error.obj and isinstance(error.obj, dict) else said
        if isinstance(error, (KeyError, TypeError)) and (isinstance(error, KeyError) or "indices must be integers" in str(error)):
            return what(*of_key(error))
    except Exception:
        pass  # of an older Python, or the expression is not that simple
    return ""


def hint(error):
    text = str(error)
    if getattr(error, "hint", None):
        return str(error.hint)
    if at_hand(error):
        return at_hand(error)
    if isinstance(error, ModuleNotFoundError):
        return "the standard library is here, other packages only if the image has them; " + NETWORK
    if isinstance(error, ImportError) and text.startswith("cannot import name '") and str(error.name).startswith("servers."):
        names = functions(sys.modules[error.name])
        return nearest(text.split("'")[1], names) if names else ""
    if "takes from 0 to 1 positional arguments" in text:
        return "functions of servers take their arguments by name, as in owner='o', or as one dict"
    if isinstance(error, OSError) and (type(error).__name__ == "gaierror" or error.errno in (errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.ECONNREFUSED)):
        return NETWORK
    if "urlopen error" in text:
        return NETWORK
    if isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return "files can be written below /tmp only, and are gone after the run; keep values with store.set"
    if Media.missed and "NoneType" in text:
        return MEDIA["hint"]
    if "coroutine' object" in text or "asyncio.run() cannot be called" in text:
        return "calls and async functions need await in front; await works at the top level, without asyncio.run"
    return ""


def describe(error):
    """Returns a text for an exception, whose own methods may raise."""
    try:
        return described(error)
    except BaseException:
        return "%s: an error that cannot be described: its own methods raise" % type(error).__qualname__


def described(error):
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
