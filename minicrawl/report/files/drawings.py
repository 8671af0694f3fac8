r"""Graphs as files for visualization and analysis: GraphML, GEXF and DOT.

Laws: nodes and links are written in blocks, and none is kept in memory. Untrusted text affects
neither the file's structure nor its readers: characters that XML forbids, and other non-printing
ones, are written by name, such as \\x1b. A link without a weight has weight 1.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, BinaryIO
from xml.sax.saxutils import escape

from minicrawl.report.selected_graph import Drawing
from minicrawl.wording import visible

DrawingWriter = Callable[[Drawing, BinaryIO], None]

_GRAPH_TYPES = {float: "double", int: "long", str: "string"}


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
        cells = [
            _enclosed(block[name], f'<data key="{_xml(name)}">', _xml, "</data>")
            for name in columns
        ]
        nodes = zip(block["id"], *cells, strict=True)
        _write(file, *(f'<node id="{node}">{"".join(texts)}</node>\n' for node, *texts in nodes))
    line = '<edge source="{source}" target="{target}">{weight}</edge>\n'
    _write_links(drawing, file, line, '<data key="weight">{}</data>')
    _write(file, "</graph>\n</graphml>\n")


def write_gexf(drawing: Drawing, file: BinaryIO) -> None:
    _write(
        file,
        '<?xml version="1.0" encoding="UTF-8"?>\n',
        '<gexf xmlns="http://gexf.net/1.3" version="1.3">\n',
        '<graph defaultedgetype="directed" mode="static">\n',
        '<attributes class="node" mode="static">\n',
        *(
            f'<attribute id="{_xml(name)}" title="{_xml(name)}" type="{_GRAPH_TYPES[kind]}"/>\n'
            for name, kind in drawing.attributes.items()
        ),
        "</attributes>\n<nodes>\n",
    )
    for block in drawing.nodes:
        columns = [
            _enclosed(block[name], f'<attvalue for="{_xml(name)}" value="', _xml, '"/>')
            for name in drawing.attributes
        ]
        nodes = zip(block["id"], block["label"], *columns, strict=True)
        _write(
            file,
            *(
                f'<node id="{node}" label="{_xml(label)}">'
                f"<attvalues>{''.join(cells)}</attvalues></node>\n"
                for node, label, *cells in nodes
            ),
        )
    _write(file, "</nodes>\n<edges>\n")
    line = '<edge id="{number}" source="{source}" target="{target}"{weight}/>\n'
    _write_links(drawing, file, line, ' weight="{}"')
    _write(file, "</edges>\n</graph>\n</gexf>\n")


def write_dot(drawing: Drawing, file: BinaryIO) -> None:
    _write(file, "digraph web {\n")
    for block in drawing.nodes:
        columns = [
            _enclosed(block[name], f"{_dot_text(name)}=", _dot_text)
            for name in ("label", *drawing.attributes)
        ]
        nodes = zip(block["id"], *columns, strict=True)
        _write(file, *(f"{node} [{', '.join(filter(None, texts))}];\n" for node, *texts in nodes))
    _write_links(drawing, file, "{source} -> {target}{weight};\n", " [weight={}]")
    _write(file, "}\n")


DRAWINGS: dict[str, DrawingWriter] = {
    "graphml": write_graphml,
    "gexf": write_gexf,
    "dot": write_dot,
}
"""Writers by file suffix."""


def _write(file: BinaryIO, *lines: str) -> None:
    file.write("".join(lines).encode())


def _write_links(drawing: Drawing, file: BinaryIO, line: str, weighed: str) -> None:
    """Write a line for each link; a weight of 1 is left out."""
    numbers = count()
    for block in drawing.links:
        weights = ["" if weight == 1 else weighed.format(weight) for weight in block["weight"]]
        rows = zip(block["source"], block["target"], weights, strict=True)
        _write(
            file,
            *(
                line.format(number=number, source=source, target=target, weight=weight)
                for number, (source, target, weight) in zip(numbers, rows, strict=False)
            ),
        )


def _enclosed(
    values: Sequence[Any], opening: str, shown: Callable[[object], str], closing: str = ""
) -> Iterator[str]:
    """Return each value of a column between `opening` and `closing`; "" for None."""
    return ("" if value is None else f"{opening}{shown(value)}{closing}" for value in values)


def _xml(value: object) -> str:
    return escape(visible(str(value)), {'"': "&quot;"})


def _graphml_key(of: str, name: str, kind: type) -> str:
    attributes = f'attr.name="{_xml(name)}" attr.type="{_GRAPH_TYPES[kind]}"'
    return f'<key id="{_xml(name)}" for="{of}" {attributes}/>\n'


def _dot_text(value: object) -> str:
    """Return a quoted string. Backslashes are escaped, as DOT labels interpret them."""
    text = visible(str(value)).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
