"""How a program ended, in words."""
import errno
import sys
import traceback

from broker_functions import MEDIA
from broker_host import functions
from broker_source import AGENT, nearest
from broker_values import Media

MAX_FRAMES = 12
NETWORK = "there is no network here: the outside is reached through tools, as in await call_mcp_tool('github__list_issues', {...})"


def hint(error):
    text = str(error)
    if getattr(error, "hint", None):
        return str(error.hint)
    if isinstance(error, ModuleNotFoundError):
        return "the standard library is here, other packages only if the image has them; " + NETWORK
    if isinstance(error, ImportError) and text.startswith("cannot import name '") and str(error.name).startswith("servers."):
        names = functions(sys.modules[error.name])
        return "did you mean: " + nearest(text.split("'")[1], names) if names else ""
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
    """Says in words what was raised, whose own methods may raise."""
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
