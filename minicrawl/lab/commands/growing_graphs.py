"""`minicrawl lab graphs`: benchmark of algorithms for graphs that grow edge by edge."""

from collections.abc import Sequence
from pathlib import Path

import click

from minicrawl.cli.options import Number
from minicrawl.cli.output import show_json, show_table
from minicrawl.cli.parameters import choice, number, option, switch, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option
from minicrawl.errors import GraphFileError
from minicrawl.graph.distances import FAR
from minicrawl.lab.algorithm_bench import AlgorithmReport, TrialRules, compare, read_sequence
from minicrawl.lab.dynamic_graphs.by_name import (
    ALGORITHMS,
    AlgorithmKind,
    DynamicAlgorithm,
    algorithm as algorithm_of,
)
from minicrawl.lab.dynamic_graphs.suite import SUITE, SolvedGraph, solved
from minicrawl.wording import counted

MB = 1 << 20


def graph_named(name: str) -> SolvedGraph:
    if name in SUITE:
        return solved(SUITE[name]())
    path = Path(name)
    if not path.is_file():
        raise click.BadParameter(f"{name!r} is neither a file nor one of {', '.join(SUITE)}")
    graph = read_sequence(path)
    if graph.nodes > FAR:  # distances of up to nodes - 1 must be below FAR
        raise GraphFileError(f"{path}: too many pages: {graph.nodes:,}, at most {FAR:,}")
    return solved(graph)


def _algorithm(name: str) -> DynamicAlgorithm:
    try:
        return algorithm_of(name)
    except KeyError:
        raise click.BadParameter(f"{name!r} is not one of {', '.join(ALGORITHMS)}") from None


@click.command("graphs")
@click.argument("graphs", metavar="GRAPH...", type=graph_named, nargs=-1, required=True)
@click.option(
    "--algorithm",
    "chosen",
    multiple=True,
    type=_algorithm,
    metavar="NAME",
    help="Algorithm, by name or number in the table; repeatable.  [default: all of --kind]",
)
@with_options
@json_option
def graphs(
    graphs: Sequence[SolvedGraph],
    chosen: Sequence[DynamicAlgorithm],
    as_json: bool,
    kind: str | None = choice(
        [kind.value for kind in AlgorithmKind],
        "Compare algorithms for distances or strong components.  [default: both]",
    ),
    threshold: int = number("Edges per batch for batch algorithms.", 100),
    trials: int = number("Run each algorithm N times on each graph.", 1),
    timeout: float = option(
        "Time limit of a trial.", 60.0, metavar="SECONDS", type=Number(min=0, min_open=True)
    ),
    validate: bool = switch("Verify each answer against the graph."),
    print_matrices: bool = switch("Show the answers of each algorithm."),
) -> None:
    """Compare algorithms for distances and strong components of a growing graph.

    Each GRAPH is a file, or one of a300, a900, a1500, c100, c200, c400, c800, roads-georgia,
    roads-idaho, sc1, sc2, sc3, random-1000. Its edges are inserted in order, and each algorithm
    answers after each edge or batch.
    """
    rules = TrialRules(
        threshold=threshold,
        trials=trials,
        timeout_s=timeout,
        validate=validate,
        want_answer=print_matrices,
    )
    of_kind = [
        algorithm for algorithm in ALGORITHMS.values() if kind in (None, algorithm.kind.value)
    ]
    algorithms = list(dict.fromkeys(chosen)) or of_kind
    reports: dict[str, list[AlgorithmReport]] = {}
    with progress("graphs") as tell:
        for place, case in enumerate(graphs):
            of_graph = reports[case.graph.name] = []
            for report in compare(case, algorithms, rules):
                of_graph.append(report)
                tell((place + len(of_graph) / len(algorithms)) / len(graphs))
    if as_json:
        show_json([_document(case, reports[case.graph.name]) for case in graphs])
    else:
        for case in graphs:
            _show(case, reports[case.graph.name], rules)
    if any(report.wrong for of_graph in reports.values() for report in of_graph):
        raise click.exceptions.Exit(1)


def _document(case: SolvedGraph, reports: Sequence[AlgorithmReport]) -> dict[str, object]:
    graph = case.graph
    facts = {
        "name": graph.name,
        "nodes": graph.nodes,
        "edges": len(graph.edges),
        "components": len(set(case.components.tolist())),
        "density": graph.density,
    }
    return {"graph": facts, "algorithms": reports}


def _show(case: SolvedGraph, reports: Sequence[AlgorithmReport], rules: TrialRules) -> None:
    graph, components = case.graph, len(set(case.components.tolist()))
    trials = [f"trial {number}" for number in range(1, rules.trials + 1) if rules.trials > 1]
    numbers = {name: number for number, name in enumerate(ALGORITHMS, 1)}
    show_table(
        f"{graph.name}: {counted(graph.nodes, 'page')}, {counted(len(graph.edges), 'edge')}, "
        f"density {graph.density:.4f}, {counted(components, 'component')}",
        ["algorithm", "number", "answers", "seconds", "MiB", "validation", *trials],
        (
            [
                report.algorithm.name,
                str(numbers[report.algorithm.name]),
                report.algorithm.kind.value,
                _seconds(report.seconds),
                f"{report.memory_bytes / MB:.1f}",
                _verdict(report) if rules.validate else "",
                *(_seconds(trial.seconds) for trial in report.trials if rules.trials > 1),
                *([""] * (rules.trials - len(report.trials))),
            ]
            for report in reports
        ),
        f"median of {rules.trials}; batches of {rules.threshold:,} edges",
    )
    for report in reports:
        if (answer := report.trials[-1].answer) is not None:
            click.echo(f"\n{report.algorithm.name}")
            for row in answer if answer.ndim > 1 else [answer]:
                click.echo(" ".join("." if n == FAR else str(n) for n in row.tolist()))


def _seconds(seconds: float | None) -> str:
    return "over time" if seconds is None else f"{seconds:.3f}"


def _verdict(report: AlgorithmReport) -> str:
    if report.wrong:
        return report.wrong
    return "not finished" if report.seconds is None else "passed"
