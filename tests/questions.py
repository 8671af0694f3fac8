"""Search for questions with side effects: functions named `is_`, `has_` and so on only answer."""

import ast
from collections.abc import Iterator

_PREFIXES = ("is_", "has_", "may_", "are_", "can_")
_METHODS = {
    *("add", "append", "appendleft", "clear", "difference_update", "discard", "extend"),
    *("extendleft", "insert", "intersection_update", "move_to_end", "pop", "popitem", "popleft"),
    *("push", "put", "put_nowait", "remove", "set", "set_result", "setdefault", "sort"),
    *("symmetric_difference_update", "update"),
}
"""Methods that change their object."""
_FUNCTIONS = {
    *("delattr", "heapify", "heappop", "heappush", "heappushpop", "heapreplace", "setattr"),
}
"""Functions that change their first argument."""


def is_question(name: str) -> bool:
    return name.lstrip("_").startswith(_PREFIXES)


def changes_in_questions(source: str) -> Iterator[tuple[str, int]]:
    """Yield the name of each question that changes state, and the line where it does."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_question(node.name):
            for inner in ast.walk(node):
                if isinstance(inner, ast.stmt | ast.expr) and _is_change(inner):
                    yield node.name, inner.lineno


def _is_change(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            return any(map(_is_state, targets))
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return _is_state(target)
        case ast.For(target=target) | ast.NamedExpr(target=target):
            return _is_state(target)
        case ast.Attribute(value=owner, attr=name) if name in _METHODS:
            return _is_state(owner)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *_]):
            return name in _FUNCTIONS and _is_state(first)
    return False


def _is_state(node: ast.expr) -> bool:
    """Return True for an attribute, an item of one, and a tuple or call chain that holds one."""
    match node:
        case ast.Attribute():
            return True
        case ast.Subscript(value=inner) | ast.Starred(value=inner):
            return _is_state(inner)
        case ast.Call(func=inner):
            return _is_state(inner)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return any(map(_is_state, parts))
    return False
