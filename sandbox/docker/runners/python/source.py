"""Compiles the text of a program."""
import ast

from broker_values import identifier

AGENT = "agent.py"
MAX_PROBLEMS = 5
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Refusal(Exception):
    """A program that does not start."""


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
    close = difflib.get_close_matches(name, names, 3, 0.6)
    if close:
        return "did you mean: " + ", ".join(close)
    more = " and %d more" % (len(names) - 10) if len(names) > 10 else ""
    return "there are: " + ", ".join(sorted(names)[:10]) + more


def check_imports(tree, names):
    """Refuses imports of unknown servers and skills, all in one error."""
    problems = []
    known = {"servers": {n.split("/", 1)[1] for n in names if n.startswith("servers/")},
             "skills": {identifier(n.split("/", 1)[1]) for n in names if n.startswith("skills/")}}
    none = {"servers": "no server is connected", "skills": "no skill is enabled"}

    def check(node, package, name):
        if name in known[package] or name == "*" or package == "skills" and name in ("read", "call"):
            return
        have = nearest(name, known[package]) if known[package] else none[package]
        problems.append("%s:%d:%d: there is no %s module %r; %s" % (AGENT, node.lineno, node.col_offset + 1, package[:-1], name, have))

    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            package, *inner = node.module.split(".")
            if package in known:
                for name in inner[:1] or [alias.name for alias in node.names]:
                    check(node, package, name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                package, *inner = alias.name.split(".")
                if package in known and inner:
                    check(node, package, inner[0])
    if problems:
        more = ["and %d more" % (len(problems) - MAX_PROBLEMS)] if len(problems) > MAX_PROBLEMS else []
        raise Refusal("\n".join(problems[:MAX_PROBLEMS] + more))


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
