"""Graphs as files for visualization and analysis: GraphML, GEXF and DOT.

Laws: nodes and links are written in blocks, and none is kept in memory. Untrusted text affects
neither the file's structure nor its readers: characters that XML forbids, and other non-printing
ones, are written by name, such as \\x1b. A link without a weight has weight 1.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, BinaryIO, NamedTuple
from xml.sax.saxutils import escape

from minicrawl.export.cells import Block, visible


class Drawing(NamedTuple):
    """Directed graph."""

    attributes: Mapping[str, type]
    """Attributes of nodes besides id and label, by type; numbers may be None."""
    nodes: Iterable[Block]
    """Columns id, label and the attributes; an id is a number."""
    links: Iterable[Block]
    """Columns source, target and weight; source and target are node ids."""


Writer = Callable[[Drawing, BinaryIO], None]

_TYPES = {float: "double", int: "long", str: "string"}


def write_graphml(drawing: Drawing, file: BinaryIO) -> None:
    """Write GraphML, for networkx, igraph, yEd and Cytoscape."""
    columns = {"label": str, **drawing.attributes}
    keys = [_graphml_key("node", name, kind) for name, kind in columns.items()]
    _write(
        file,
        '<?xml version="1.0" encoding="UTF-8"?>\n',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n',
        *keys,
        _graphml_key("edge", "weight", int),
        '<graph edgedefault="directed">\n',
    )
    for block in drawing.nodes:
        attributes = zip(*(_graphml_value(name, block[name]) for name in columns), strict=True)
        nodes = zip(block["id"], attributes, strict=True)
        _write(file, *(f'<node id="{node}">{"".join(texts)}</node>\n' for node, texts in nodes))
    for block in drawing.links:
        _write(file, *map(_graphml_link, *_ends(block)))
    _write(file, "</graph>\n</graphml>\n")


def write_gexf(drawing: Drawing, file: BinaryIO) -> None:
    """Write GEXF 1.3, for Gephi."""
    _write(
        file,
        '<?xml version="1.0" encoding="UTF-8"?>\n',
        '<gexf xmlns="http://gexf.net/1.3" version="1.3">\n',
        '<graph defaultedgetype="directed" mode="static">\n',
        '<attributes class="node" mode="static">\n',
        *(
            f'<attribute id="{_xml(name)}" title="{_xml(name)}" type="{_TYPES[kind]}"/>\n'
            for name, kind in drawing.attributes.items()
        ),
        "</attributes>\n<nodes>\n",
    )
    for block in drawing.nodes:
        _write(file, *_gexf_nodes(block, list(drawing.attributes)))
    _write(file, "</nodes>\n<edges>\n")
    numbers = count()
    for block in drawing.links:
        _write(file, *map(_gexf_link, numbers, *_ends(block)))
    _write(file, "</edges>\n</graph>\n</gexf>\n")


def write_dot(drawing: Drawing, file: BinaryIO) -> None:
    """Write DOT, for Graphviz."""
    _write(file, "digraph web {\n")
    for block in drawing.nodes:
        _write(file, *_dot_nodes(block, ["label", *drawing.attributes]))
    for block in drawing.links:
        _write(file, *map(_dot_link, *_ends(block)))
    _write(file, "}\n")


DRAWINGS: dict[str, Writer] = {"graphml": write_graphml, "gexf": write_gexf, "dot": write_dot}
"""Writers by file suffix."""


def _write(file: BinaryIO, *lines: str) -> None:
    file.write("".join(lines).encode())


def _ends(block: Block) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    return block["source"], block["target"], block["weight"]


def _xml(value: object) -> str:
    return escape(visible(str(value)), {'"': "&quot;"})


# ---------------------------------------------------------------- GraphML


def _graphml_key(of: str, name: str, kind: type) -> str:
    attributes = f'attr.name="{_xml(name)}" attr.type="{_TYPES[kind]}"'
    return f'<key id="{_xml(name)}" for="{of}" {attributes}/>\n'


def _graphml_value(name: str, values: Sequence[Any]) -> Iterator[str]:
    opening = f'<data key="{_xml(name)}">'
    return ("" if value is None else f"{opening}{_xml(value)}</data>" for value in values)


def _graphml_link(source: int, target: int, weight: int) -> str:
    attributes = "" if weight == 1 else f'<data key="weight">{weight}</data>'
    return f'<edge source="{source}" target="{target}">{attributes}</edge>\n'


# ---------------------------------------------------------------- GEXF


def _gexf_nodes(block: Block, attributes: Sequence[str]) -> Iterator[str]:
    columns = [_gexf_value(name, block[name]) for name in attributes]
    for node, label, *cells in zip(block["id"], block["label"], *columns, strict=True):
        values = f"<attvalues>{''.join(cells)}</attvalues>"
        yield f'<node id="{node}" label="{_xml(label)}">{values}</node>\n'


def _gexf_value(name: str, values: Sequence[Any]) -> Iterator[str]:
    opening = f'<attvalue for="{_xml(name)}" value="'
    return ("" if value is None else f'{opening}{_xml(value)}"/>' for value in values)


def _gexf_link(number: int, source: int, target: int, weight: int) -> str:
    attributes = "" if weight == 1 else f' weight="{weight}"'
    return f'<edge id="{number}" source="{source}" target="{target}"{attributes}/>\n'


# ---------------------------------------------------------------- DOT


def _dot_nodes(block: Block, attributes: Sequence[str]) -> Iterator[str]:
    columns = [_dot_value(name, block[name]) for name in attributes]
    for node, *cells in zip(block["id"], *columns, strict=True):
        yield f"{node} [{', '.join(filter(None, cells))}];\n"


def _dot_value(name: str, values: Sequence[Any]) -> Iterator[str]:
    opening = f"{_dot_text(name)}="
    return ("" if value is None else f"{opening}{_dot_text(value)}" for value in values)


def _dot_text(value: object) -> str:
    """Return a quoted string. Backslashes are escaped, as DOT labels interpret them."""
    text = visible(str(value)).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _dot_link(source: int, target: int, weight: int) -> str:
    attributes = "" if weight == 1 else f" [weight={weight}]"
    return f"{source} -> {target}{attributes};\n"
