"""Finds out what a program waits for, and whether it can continue."""
import asyncio
import selectors
import signal
import sys

from broker_source import AGENT


def innermost(coroutine):
    """The program's line in a chain of coroutines that wait for each other, 0 for none."""
    line = 0
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is not None and frame.f_code.co_filename == AGENT:
            line = frame.f_lineno
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)
    return line


def waiting_line(loop):
    """Where the oldest task waits that has a line in the program, as in " at agent.py:3"."""
    tasks = sorted(asyncio.all_tasks(loop), key=lambda t: (len(t.get_name()), t.get_name()))
    line = next(filter(None, (innermost(t.get_coro()) for t in tasks)), 0)
    return " at %s:%d" % (AGENT, line) if line else ""


def whereabouts(frame, calls):
    """What the program does whose main thread is in frame; calls are the names of its calls."""
    while frame and frame.f_code.co_name != "_run_once":  # the turns of the event loop
        if frame.f_code.co_filename == AGENT:
            return " at %s:%d" % (AGENT, frame.f_lineno)
        frame = frame.f_back
    line = ""
    if frame:
        try:
            line = waiting_line(frame.f_locals["self"])
        except Exception:
            pass  # the program has changed what it is asked for
    what = " for " + calls[0] if calls else ""
    return " while waiting" + what + line if what or line else ""


def handles_signals():
    """Whether the program has a handler of its own for a signal, which may wake it."""
    own = (signal.SIGALRM, signal.SIGINT)  # ours, and Python's
    return any(callable(signal.getsignal(s)) for s in signal.valid_signals() if s not in own)


def watch(host, stuck):
    """Has event loops call stuck, with the place, when nothing is left that could wake them."""

    class Selector(selectors.DefaultSelector):
        def select(self, timeout=None):
            # Without a timeout nothing is ready to run, and no timer is set. Besides
            # that, calls, other files and threads wake a loop: its own file, the main
            # thread and the one that listens are always there. What has just ended
            # left its word in the loop's own file first.
            if timeout is None and not host.waiting and len(self.get_map()) == 1 and len(sys._current_frames()) == 2:
                loop = asyncio.get_running_loop()
                events = super().select(0)
                if events or getattr(loop, "_signal_handlers", None) or handles_signals():
                    return events
                stuck(waiting_line(loop))
            return super().select(timeout)

    start = asyncio.SelectorEventLoop.__init__
    asyncio.SelectorEventLoop.__init__ = lambda self, selector=None: start(self, Selector() if selector is None else selector)
