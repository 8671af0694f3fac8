"""File formats by suffix, and the writers of CSV, TSV, JSONL and Parquet.

CSV and TSV are for spreadsheets. Their cells are escaped, so a cell may differ from the page's text
by a leading apostrophe or an escape. JSONL is for programs, and exact.

Parquet files are written by DuckDB, and exact like JSONL. A row group is in memory as a whole, so
it is limited in bytes. DuckDB checks that limit only between the chunks that it reads, and a chunk
of a table is 2,048 rows, however large. So each block first becomes a small file, whose chunks are
no larger than the file, and the files are then joined. DuckDB writes only to a path, so the result
is made in a temporary folder and copied.
"""

import csv
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import count
from math import isnan
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, BinaryIO
from xml.sax.saxutils import escape

import numpy as np

from minicrawl import ext
from minicrawl.errors import UsageError, needs
from minicrawl.ext import Registry
from minicrawl.own_files import replacing, scratch
from minicrawl.report.selected_pages import COLUMNS, LINK_COLUMNS, Block, Drawing
from minicrawl.web.usage import PURPOSES
from minicrawl.wording import all_harmless, visible

# ================================================================ rows

ROW_GROUP_BYTES = 32 << 20
_LEAST_MEMORY = 256 << 20
_MEMORY_OF_GROUP = 8
"""Memory limit in row groups: several copies exist while one is compressed."""
_TYPES = {
    "rank": "BIGINT",
    "importance": "DOUBLE",
    "cash": "DOUBLE",
    "history": "DOUBLE",
    "inlinks": "BIGINT",
    "status": "SMALLINT",
    "depth": "SMALLINT",
    "first_fetched": "TIMESTAMPTZ",
    "last_fetched": "TIMESTAMPTZ",
    "weight": "BIGINT",
    "value": "DOUBLE",
    "page_id": "BIGINT",
    "crawl_order": "BIGINT",
    "bytes": "BIGINT",
    "noindex": "BOOLEAN",
}
"""SQL types; the other columns of COLUMNS and LINK_COLUMNS are text."""
_ANSWER = 'STRUCT("answer" VARCHAR, "where" VARCHAR)'
_NESTED = {
    "headings": "STRUCT(level SMALLINT, text VARCHAR)[]",
    "links": "STRUCT(url VARCHAR, text VARCHAR, rel VARCHAR)[]",
    "usage": f"STRUCT({', '.join(f'{json.dumps(one)} {_ANSWER}' for one in PURPOSES)})",
}
"""SQL types of columns of lists and structs, which reach DuckDB as JSON."""
_COPY = """
COPY (FROM read_parquet(?) UNION ALL BY NAME SELECT NULL AS "{}" WHERE random() > 1)
TO ? (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE_BYTES {})
"""
"""Query that joins the files.

The second SELECT never returns a row. It makes every column nullable; otherwise that would depend
on the rows, and files could not be joined.
"""


def write_parquet(
    blocks: Iterable[Block],
    file: BinaryIO,
    columns: Sequence[str] = COLUMNS,
    row_group_bytes: int = ROW_GROUP_BYTES,
    most_bytes: int | None = None,
    types: Mapping[str, str] | None = None,
    least_memory: int = _LEAST_MEMORY,
) -> None:
    """Write Parquet, block by block; times are timestamps in UTC.

    No further block is taken when the file has about `most_bytes`. `types` are SQL types of columns
    that are not those of pages and links.
    """
    with needs("parquet", "Parquet"):
        import duckdb
    memory = max(least_memory, _MEMORY_OF_GROUP * row_group_bytes)
    typed = ", ".join(f'{_cast(name, types or {})} AS "{name}"' for name in columns)
    none = ", ".join(f'NULL AS "{name}"' for name in columns)
    with scratch("parquet") as folder:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{memory >> 20}MiB",
            "threads": 1,  # more threads would shuffle the rows
            "preserve_insertion_order": False,  # otherwise row groups would have no limit in bytes
            "temp_directory": str(folder),
        }
        with duckdb.connect(config=config) as database:
            parts, written = [str(folder / "0.parquet")], 0
            empty = f"SELECT {typed} FROM (SELECT {none}) WHERE false"
            database.execute(f"COPY ({empty}) TO ? (FORMAT parquet)", parts)
            for block in blocks:
                parts.append(str(folder / f"{len(parts)}.parquet"))
                arrays = {name: _as_array(name, values) for name, values in block.items()}
                database.register("block", arrays)
                part = f"COPY (SELECT {typed} FROM block) TO ? (FORMAT parquet, COMPRESSION zstd)"
                database.execute(part, parts[-1:])
                written += Path(parts[-1]).stat().st_size
                if most_bytes is not None and written >= most_bytes:
                    break
            target = folder / "pages.parquet"
            copy = _COPY.format(columns[0], row_group_bytes)
            database.execute(copy, [parts, str(target)])
        with target.open("rb") as made:
            shutil.copyfileobj(made, file)


CONTENTS: Mapping[str, str] = MappingProxyType(
    {
        "text": "whole text, without markup",
        "html": "markup, decoded",
        "headings": "list of headings, each with `level` and `text`",
        "lang_declared": "language of the attribute `lang`",
        "links": "list of links, each with `url`, `text` and `rel`",
        "usage": "`answer` (allow, deny or unset) and `where` for each purpose: "
        + ", ".join(PURPOSES),
        "page_id": "number of the page in the store, from 0, in the order of discovery",
        "crawl_order": "number of the page in the order in which pages were first read, from 1",
        "content_type": "media type of the response",
        "bytes": "length of the decoded body",
        "text_hash": "SHA-256 of the main text, or of the whole text if there is no main text",
        "robots": "directives of X-Robots-Tag and of meta robots",
    }
)
"""Columns of page content, for JSONL and Parquet, and what they hold."""


def contents_of(suffix: str) -> tuple[str, ...]:
    """Return the columns of page content that files with this suffix always have."""
    writer = WRITERS.get(suffix)
    return tuple(getattr(writer, "contents", ()))


def lines_of(suffix: str) -> Callable[[Any, Callable[[str], None]], Iterator[bytes]] | None:
    """Return the function that yields such a file's lines from a snapshot; None for other files."""
    return getattr(WRITERS.get(suffix), "lines", None)


def content_columns() -> tuple[str, ...]:
    """Return `CONTENTS`, and the texts that packages add."""
    return (*CONTENTS, *ext.entry_points(ext.PARSERS))


RAW_TEXTS = ("end", "rel", "written")
"""Columns that only files of `export --edges --raw` have."""


def _type(name: str) -> str:
    """Return the SQL type of a column; unknown columns are scores."""
    known = (*COLUMNS, *LINK_COLUMNS, *RAW_TEXTS, *content_columns())
    return _TYPES.get(name, "VARCHAR") if name in known else "DOUBLE"


def _cast(name: str, types: Mapping[str, str]) -> str:
    """Return the SQL expression of a column with its type."""
    value = f'CAST("{name}" AS JSON)' if name in _NESTED else f'"{name}"'
    return f"CAST({value} AS {types.get(name) or _NESTED.get(name) or _type(name)})"


def _as_array(name: str, values: Sequence[Any]) -> np.ndarray:
    """Return a column: lists and structs as JSON, nullable values as objects."""
    if name in _NESTED:
        values = [None if value is None else json.dumps(value) for value in values]
    if _TYPES.get(name) == "DOUBLE":
        return np.array(values, dtype=np.float64)
    is_number = name in {"rank", "inlinks", "depth", "weight"}
    return np.array(values, dtype=np.int64 if is_number else object)


_UNTRUSTED = frozenset(
    (
        *("url", "host", "title", "source", "target", "original", "end", "through", "stands_for"),
        *("text", "rel", "written", "like"),
    )
)
"""Columns with text from web pages."""


def write_csv(blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str] = COLUMNS) -> None:
    """Write CSV by RFC 4180, but with Unix line ends."""
    _write_cells(blocks, file, columns, ",")


def write_tsv(blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str] = COLUMNS) -> None:
    """Write TSV. No cell contains a tab."""
    _write_cells(blocks, file, columns, "\t")


def write_jsonl(blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str] = COLUMNS) -> None:
    """Write one JSON object per line, in ASCII without control characters."""
    line = "{" + ", ".join(f'"{name}": %s' for name in columns) + "}\n"
    for block in blocks:
        values = [
            list(map(json.dumps, column)) if name in _NESTED else _as_json(column)
            for name, column in block.items()
        ]
        lines = "".join(map(line.__mod__, zip(*values, strict=True)))
        file.write(lines.replace("\x7f", r"\u007f").encode("ascii"))


def _as_json(values: Sequence[Any]) -> list[str]:
    """Return each value as JSON. No value may be a list or a struct.

    For speed, all values are encoded at once, and the result is split at line breaks.
    """
    # JSON escapes the line breaks of texts, so one in the output is always a separator.
    encode = json.JSONEncoder(allow_nan=False, separators=("\n", ": ")).encode
    return encode(values)[1:-1].split("\n") if values else []


def _write_cells(
    blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str], delimiter: str
) -> None:
    file.write(f"{delimiter.join(columns)}\n".encode())
    for block in blocks:
        cells = (
            _quoted(all_harmless(values), delimiter) if name in _UNTRUSTED else _cells(values)
            for name, values in block.items()
        )
        lines = map(delimiter.join, zip(*cells, strict=True))
        file.write("".join([f"{line}\n" for line in lines]).encode())


def _cells(values: Sequence[Any]) -> Iterable[str]:
    """Return the values as text; None is an empty cell."""
    if None in values:
        return ["" if value is None else str(value) for value in values]
    return map(str, values)


def _quoted(cells: Sequence[str], delimiter: str) -> Sequence[str]:
    """Quote the cells that need it.

    Escaped cells have no line break, so only the delimiter and quotes matter.
    """
    # One search in the whole column: most columns need no quotes at all.
    text = "".join(cells)
    if delimiter not in text and '"' not in text:
        return cells
    return [
        '"' + cell.replace('"', '""') + '"' if delimiter in cell or '"' in cell else cell
        for cell in cells
    ]


Writer = Callable[[Iterable[Block], BinaryIO, Sequence[str]], int | None]
"""Function that writes blocks with these columns, and counts its rows if it leaves some out."""

ROW_WRITERS: dict[str, Writer] = {
    "csv": write_csv,
    "tsv": write_tsv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}
"""Built-in writers by file suffix."""

WRITERS = Registry(ext.EXPORTERS, ROW_WRITERS)
"""Built-in writers, and those of installed packages."""


# ================================================================ drawings
#
# Graphs as files for visualization and analysis: GraphML, GEXF and DOT.
#
# Laws: nodes and links are written in blocks, and none is kept in memory. Untrusted text affects
# neither the file's structure nor its readers: characters that XML forbids, and other non-printing
# ones, are written by name, such as \\x1b. A link without a weight has weight 1.

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
    numbers = count()
    for block in drawing.links:
        _write(file, *map(_gexf_link, numbers, *_ends(block)))
    _write(file, "</edges>\n</graph>\n</gexf>\n")


def write_dot(drawing: Drawing, file: BinaryIO) -> None:
    """Write DOT, for Graphviz."""
    _write(file, "digraph web {\n")
    for block in drawing.nodes:
        columns = [
            _enclosed(block[name], f"{_dot_text(name)}=", _dot_text)
            for name in ("label", *drawing.attributes)
        ]
        nodes = zip(block["id"], *columns, strict=True)
        _write(file, *(f"{node} [{', '.join(filter(None, texts))}];\n" for node, *texts in nodes))
    for block in drawing.links:
        _write(file, *map(_dot_link, *_ends(block)))
    _write(file, "}\n")


DRAWINGS: dict[str, DrawingWriter] = {
    "graphml": write_graphml,
    "gexf": write_gexf,
    "dot": write_dot,
}
"""Writers by file suffix."""


def _write(file: BinaryIO, *lines: str) -> None:
    file.write("".join(lines).encode())


def _ends(block: Block) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    return block["source"], block["target"], block["weight"]


def _enclosed(
    values: Sequence[Any], opening: str, shown: Callable[[object], str], closing: str = ""
) -> Iterator[str]:
    """Return each value of a column between `opening` and `closing`; "" for None."""
    return ("" if value is None else f"{opening}{shown(value)}{closing}" for value in values)


def _xml(value: object) -> str:
    return escape(visible(str(value)), {'"': "&quot;"})


# ---------------------------------------------------------------- GraphML


def _graphml_key(of: str, name: str, kind: type) -> str:
    attributes = f'attr.name="{_xml(name)}" attr.type="{_GRAPH_TYPES[kind]}"'
    return f'<key id="{_xml(name)}" for="{of}" {attributes}/>\n'


def _graphml_link(source: int, target: int, weight: int) -> str:
    attributes = "" if weight == 1 else f'<data key="weight">{weight}</data>'
    return f'<edge source="{source}" target="{target}">{attributes}</edge>\n'


# ---------------------------------------------------------------- GEXF


def _gexf_link(number: int, source: int, target: int, weight: int) -> str:
    attributes = "" if weight == 1 else f' weight="{weight}"'
    return f'<edge id="{number}" source="{source}" target="{target}"{attributes}/>\n'


# ---------------------------------------------------------------- DOT


def _dot_text(value: object) -> str:
    """Return a quoted string. Backslashes are escaped, as DOT labels interpret them."""
    text = visible(str(value)).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _dot_link(source: int, target: int, weight: int) -> str:
    attributes = "" if weight == 1 else f" [weight={weight}]"
    return f"{source} -> {target}{attributes};\n"


# ================================================================ figures
#
# Figures as PNG and SVG, with their numbers as CSV.
#
# Laws: a figure is written atomically, so that an incomplete one never replaces a good one. Unknown
# values are not drawn.

_FEW_DECADES = (2, 0.5)
"""Maximum decades of an axis for some labels between the powers of ten, and for all of them."""


_MARKED = 10
"""Number of markers on a line."""


_MARKERS = "ox+s^vD*<>PX"
_DASHES = ("-", "--", "-.", ":", (0, (8, 2, 1, 2, 1, 2)))
"""Lines differ by marker and dash, so that they can be told apart without colours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotLine:
    """One curve. `error` has the standard errors of y, if there are several draws."""

    label: str
    x: Sequence[float]
    """NaN interrupts the line, in y as well."""
    y: Sequence[float]
    error: Sequence[float] | None = None
    names: Sequence[str] = ()
    """Names of the points, drawn into circles instead of the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Content of a figure."""

    name: str
    title: str
    x_label: str
    y_label: str
    lines: Sequence[PlotLine]
    log_x: bool = False
    log_y: bool = False
    points: bool = False
    """Draw points only, without lines."""
    is_map: bool = False
    """Both axes have one scale, and the first lines are the palest."""


def write(out: Path, *panels: Figure) -> tuple[Path, ...]:
    """Write a figure into a folder: its numbers, and the picture as PNG and SVG.

    Several panels stand side by side, with the name of the first, and share their axes.
    """
    paths = tuple(out / f"{panels[0].name}.{suffix}" for suffix in ("csv", "png", "svg"))
    with replacing(paths[0]) as file:
        _write_csv(file, panels)
    plot = pyplot()
    canvas, places = plot.subplots(
        ncols=len(panels),
        figsize=(8 if len(panels) == 1 else 6.5 * len(panels), 5.5),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for figure, axes in zip(panels, places[0], strict=True):
        draw(plot, axes, figure)
    # Without a date and with a fixed salt of IDs, the same numbers give the same file.
    with plot.rc_context({"svg.hashsalt": panels[0].name}):
        for path, metadata in zip(paths[1:], ({}, {"Date": None}), strict=True):
            with replacing(path) as file:
                canvas.savefig(file, format=path.suffix[1:], dpi=120, metadata=metadata)
    plot.close(canvas)
    return paths


def pyplot() -> ModuleType:
    """Return matplotlib's pyplot. Raises UsageError if it is not installed.

    Call this before computing anything, so that a missing package costs no time.
    """
    with needs("lab", "a figure"):
        import matplotlib as mpl
    mpl.use("agg")
    from matplotlib import pyplot as found

    return found


def prepare(out: Path) -> None:
    """Create the folder for figures.

    Raise UsageError without matplotlib or write permission, before anything is computed.
    """
    pyplot()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {out} for the figures: {error}") from error
    if not os.access(out, os.W_OK):
        raise UsageError(f"cannot write figures into {out}: permission denied")


def _write_csv(file: BinaryIO, panels: Sequence[Figure]) -> None:
    text = TextIOWrapper(file, encoding="utf-8", newline="")
    rows = csv.writer(text, lineterminator="\n")
    has_errors = any(line.error for figure in panels for line in figure.lines)
    are_several = len(panels) > 1
    rows.writerow(
        ["panel"] * are_several
        + ["line", panels[0].x_label, panels[0].y_label]
        + ["standard error"] * has_errors
    )
    for figure in panels:
        for line in figure.lines:
            names = [figure.title] * are_several + [line.label]
            columns = (line.x, line.y, *([line.error] if line.error else []))
            points = (row for row in zip(*columns, strict=True) if not isnan(row[0]))
            rows.writerows((*names, *row) for row in points)
    text.detach()


def draw(plot: ModuleType, axes: Any, figure: Figure) -> None:
    """Draw the figure into these axes."""
    for number, line in enumerate(figure.lines):
        if line.names:
            frame = {"boxstyle": "circle", "facecolor": "white", "edgecolor": "black"}
            centre = {"ha": "center", "va": "center", "fontsize": 8, "zorder": 3, "bbox": frame}
            for x, y, name in zip(line.x, line.y, line.names, strict=True):
                axes.text(x, y, name, **centre)
            axes.update_datalim(list(zip(line.x, line.y, strict=True)))
            continue
        (drawn,) = axes.plot(line.x, line.y, label=line.label, **_style(figure, number))
        if line.error and len(line.x) <= _MARKED:
            colour = drawn.get_color()
            axes.errorbar(line.x, line.y, line.error, fmt="none", ecolor=colour, capsize=3)
        elif line.error:
            ends = [(y - error, y + error) for y, error in zip(line.y, line.error, strict=True)]
            band = {"color": drawn.get_color(), "alpha": 0.2, "linewidth": 0}
            axes.fill_between(line.x, *zip(*ends, strict=True), **band)
    axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
    # A logarithmic axis needs a value above 0: a crawl of one page has no links.
    log_x = figure.log_x and any(x > 0 for line in figure.lines for x in line.x)
    log_y = figure.log_y and any(y > 0 for line in figure.lines for y in line.y)
    axes.set_xscale("log" if log_x else "linear")
    axes.set_yscale("log" if log_y else "linear")
    for axis, is_log in ((axes.xaxis, log_x), (axes.yaxis, log_y)):
        if is_log:
            axis.set_major_formatter(plot.FuncFormatter(lambda value, _place: f"{value:g}"))
            axis.set_minor_formatter(plot.LogFormatter(minor_thresholds=_FEW_DECADES))
    if not figure.log_x and all(isinstance(x, int) for line in figure.lines for x in line.x):
        axes.xaxis.set_major_locator(plot.MaxNLocator(integer=True))
    if figure.is_map:
        axes.set_aspect("equal")
        axes.margins(0.1)
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()


def _style(figure: Figure, number: int) -> dict[str, Any]:
    if figure.is_map:
        place = (number + 1) / len(figure.lines)
        return {"color": str(0.95 - 0.7 * place), "linewidth": 0.5 + place, "zorder": 1 + place}
    if figure.points:
        return {"marker": _MARKERS[number % len(_MARKERS)], "fillstyle": "none", "linestyle": ""}
    points = len(figure.lines[number].x)
    is_alone = len(figure.lines) == 1
    return {
        "marker": _MARKERS[number % len(_MARKERS)] if points <= _MARKED or not is_alone else None,
        "markevery": -(-points // _MARKED) or None,
        "fillstyle": "none",
        "linestyle": _DASHES[number % len(_DASHES)],
    }


# ================================================================ names

WEB_ARCHIVES = ("warc.gz", "wacz")
"""Formats of pages with their content."""

GRAPH_FOLDER = "graph"
"""Name of the format of a folder `graph/`, or one with the suffix `.graph/`."""

FORMATS = (*ROW_WRITERS, *DRAWINGS, GRAPH_FOLDER, *WEB_ARCHIVES)
"""Built-in formats: rows, drawings of graphs, a folder of a graph, web archives."""


def format_of(path: Path, name: str | None = None) -> str:
    """Return the format of this name, or that of the file's suffix."""
    ending = path.suffix.removeprefix(".").lower() or path.name
    in_full = "".join(path.suffixes[-2:]).removeprefix(".").lower()
    suffix = name or (in_full if in_full in WEB_ARCHIVES or in_full in WRITERS else ending)
    if suffix not in FORMATS and suffix not in WRITERS:
        known = ", ".join(f".{known}" for known in dict.fromkeys((*FORMATS, *WRITERS)))
        raise UsageError(f"{path}: unknown format; use one of {known}, or --format")
    return suffix
