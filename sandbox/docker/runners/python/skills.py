"""Skills in Python: the modules among their files."""
import importlib.abc
import importlib.machinery
import importlib.util
import os

from broker_values import identifier


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
