"""Skills in Python: their functions, and the modules among their files."""
import importlib.abc
import importlib.machinery
import importlib.util
import os
import types

from broker_values import identifier


def skills_module(host):
    """What the name skills means: a module, so that an import from a skill does
    not hide the functions."""

    def check(*texts):
        if not all(isinstance(t, str) and t for t in texts):
            raise TypeError("use it as in await skills.read('release-notes', 'references/style.md') or"
                            " await skills.call('release-notes', 'start', {'version': '2'})")

    async def read(name, path):
        check(name, path)
        return await host.call("skills.read", name, [path])

    async def call(name, tool, input=None, /, **arguments):
        check(name, tool)
        if arguments:
            input = {**(input or {}), **arguments}
        return await host.call("skills.call", name, [tool] if input is None else [tool, input])

    module = types.ModuleType("skills")
    module.__dict__.update(read=read, call=call, __path__=[])
    return module


class Skills(importlib.abc.MetaPathFinder):
    """Imports the Python modules of skills: skills.release_notes.scripts.group
    is release-notes/scripts/group.py, where the files of skills are."""

    def __init__(self, root):
        self.root = root

    def find_spec(self, name, path=None, target=None):
        first, *rest = name.split(".")
        if first != "skills" or not rest:
            return None
        for folder in [self.root] if len(rest) == 1 else path or []:
            spec = self.find(name, folder, rest[-1])
            if spec:
                return spec
        return None

    def find(self, name, folder, last):
        try:
            entries = sorted(os.listdir(folder), key=lambda e: (e not in (last, last + ".py"), e))
        except OSError:
            return None
        for entry in entries:
            where = os.path.join(folder, entry)
            start = os.path.join(where, "__init__.py")
            if entry.endswith(".py") and identifier(entry[:-3]) == last:
                return importlib.util.spec_from_file_location(name, where)
            if identifier(entry) != last or not os.path.isdir(where):
                continue
            if os.path.isfile(start):
                return importlib.util.spec_from_file_location(name, start, submodule_search_locations=[where])
            spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [where]
            return spec
        return None
