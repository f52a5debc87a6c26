"""Starts a runner of Python programs: the argument of python3 -c.

The other arguments are the names and the texts of its modules, in an order in
which each imports only those before it.
"""
import sys
import types

arguments, sys.argv[1:] = sys.argv[1:], []
for name, text in zip(arguments[::2], arguments[1::2]):
    module = sys.modules["broker_" + name] = types.ModuleType("broker_" + name)
    exec(compile(text, "broker/%s.py" % name, "exec", dont_inherit=True), module.__dict__)
module.main()
