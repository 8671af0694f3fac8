"""The page of the Python API: every public name with its signature and docstring."""

import ast
import dataclasses
import enum
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from types import UnionType

import minicrawl
from minicrawl import ext
from tests.reference.markdown import FIELD, listed, page, paragraphs, prose

_MEMBER = re.compile(r"^    (\w+) = [^#\n]+?(?:  # (.+))?$", re.MULTILINE)


def python_page() -> str:
    """Describe every public name with its signature and docstring."""
    names = [name for name in minicrawl.__all__ if not name.startswith("_")]
    return page(
        "Python API",
        "All that `minicrawl` exports. Everything else may change without notice.",
        *(part for name in names for part in _public(name, getattr(minicrawl, name))),
        "# For packages",
        "All that `minicrawl.ext` exports, for [packages](../how-to/add-a-package.md) that add to "
        "minicrawl.",
        *(part for name in ext.__all__ for part in _for_packages(name, names)),
    )


def _for_packages(name: str, known: Iterable[str]) -> Iterator[str]:
    """Describe a name of `minicrawl.ext`; the docstring of a function type stands below it."""
    value = getattr(ext, name)
    if name in known:
        return
    if isinstance(value, type):
        yield from _public(name, value)
        return
    home = sys.modules[ext.HOMES.get(name, ext.__name__)]
    declaration = re.search(
        rf'^{name}(?:: TypeAlias)? = (.+)\n"""(.+?)"""', inspect.getsource(home), re.MULTILINE
    )
    yield f"## {name}"
    if declaration is None:
        raise TypeError(f"{name} has no docstring")
    yield f"```python\n{declaration[1].strip(chr(34))}\n```"
    yield prose(declaration[2])


def _public(name: str, value: object) -> Iterator[str]:
    yield f"## {name}"
    if isinstance(value, UnionType):
        yield f"One of {listed(one.__name__ for one in value.__args__)}."
    elif isinstance(value, type):
        yield from _class(value)
    else:
        raise TypeError(f"{name} is neither a class nor a union: the reference cannot describe it")


def _class(one: type) -> Iterator[str]:
    if not _is_a_record(one):
        yield _signature(one.__name__, one)
    yield paragraphs(one.__doc__ or "")
    if _is_a_record(one):
        yield _record(one)
    elif "__init__" in vars(one) and (made := vars(one)["__init__"].__doc__):
        yield paragraphs(made)
        yield from _attributes(one)
    for name, member in vars(one).items():
        described = _member(name, member)
        if not name.startswith("_") and described:
            yield described


def _attributes(one: type) -> Iterator[str]:
    """List the attributes that `__init__` describes by a text below them."""
    source = textwrap.dedent(inspect.getsource(vars(one)["__init__"]))
    (made,) = ast.parse(source).body
    assert isinstance(made, ast.FunctionDef)
    for line, below in pairwise(made.body):
        match line, below:
            case (
                ast.Assign(targets=[ast.Attribute(attr=name)])
                | ast.AnnAssign(target=ast.Attribute(attr=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ) if not name.startswith("_"):
                yield f"### `{name}`\n\n{paragraphs(text)}"


def _is_a_record(one: type) -> bool:
    return dataclasses.is_dataclass(one) or issubclass(one, enum.Enum | tuple)


def _record(one: type) -> str:
    """List the fields or members of a class with the comments behind them."""
    source = inspect.getsource(one)
    if issubclass(one, enum.Enum):
        comments = dict(_MEMBER.findall(source))
        rows = [(member.name, f"{member.value}", comments[member.name]) for member in one]
    else:
        rows = FIELD.findall(source)
    return "\n".join(
        f"- `{name}`" + (f" ({prose(kind)})" if kind else "") + (f": {prose(why)}" if why else "")
        for name, kind, why in rows
    )


def _member(name: str, member: object) -> str:
    match member:
        case property(fget=getter) | cached_property(func=getter) if getter and getter.__doc__:
            return f"### `{name}`\n\n{paragraphs(getter.__doc__)}"
        case classmethod() | staticmethod():
            member = member.__func__
    if not inspect.isfunction(member) or not member.__doc__:
        return ""
    return "\n\n".join([f"### `{name}()`", _signature(name, member), paragraphs(member.__doc__)])


def _signature(name: str, callable_: Callable[..., object]) -> str:
    try:
        written = str(inspect.signature(callable_))
    except ValueError:  # an exception without an __init__ of its own
        written = "(message)"
    written = re.sub(r"<function (\w+) at 0x\w+>", r"\1", written)
    written = re.sub(r"\((?:self|cls)(?:, )?", "(", written, count=1)
    written = re.sub(r"(: |-> )'([^']+)'", r"\1\2", written)  # annotations that are text
    # Later versions of Python write these three in other ways.
    written = re.sub(r"(?:\*|Unpack\[)ForwardRef\('(\w+)'\)\]?", r"\1", written)
    written = written.replace("pathlib._local.", "pathlib.")
    written = written.replace("collections.abc.", "")
    array = r"numpy\.ndarray\[tuple\[typing\.Any, \.\.\.\], numpy\.dtype\[([\w.]+)\]\]"
    written = re.sub(array, r"NDArray[\1]", written)
    return f"```python\n{name}{written}\n```"
