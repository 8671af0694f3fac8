"""Programs that compute ranks with several libraries, given a folder and an error.

The folder holds a graph as two arrays, `starts` and `targets` of compressed rows, and as a text of
links. A program loads its library and computes the scores from the arrays in memory, or from the
text. It prints a line of JSON: the time, including that for its own structures, the memory above
its memory before it loaded the graph, and the best node with its score (for HITS, the best
authority).

Programs stop at the given error as far as their library allows. PageRank: scipy and minicrawl by
the bound |change| d / (1 - d), networkit by the norm of the last change, igraph (PRPACK) always at
its own 1e-10, and rustworkx by the sum of the changes of all nodes. HITS: minicrawl by its bound;
scipy's power iteration by an estimate that assumes that changes shrink as in the last two rounds;
svds (ARPACK) by its residual, igraph (ARPACK) at machine precision, and rustworkx by its last
change. igraph searches twice, once for authorities and once for hubs.
"""

COMMON = """
import json, sys, time
import numpy as np
folder, error = sys.argv[1], float(sys.argv[2])
DAMPING = 0.85

def peak():
    # getrusage would begin with the peak of the parent process.
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024

def pairs(starts, targets):
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts)), targets

def arrays():
    return np.load(folder + "/starts.npy"), np.load(folder + "/targets.npy")

def report(work, load=arrays):
    before = peak()
    given = load()
    began, began_cpu = time.perf_counter(), time.process_time()
    scores = np.asarray(work(*given))
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
    best = int(scores.argmax())
    document = dict(wall_s=wall_s, cpu_s=cpu_s, bytes=peak() - before, best=best)
    print(json.dumps(document | dict(score=float(scores[best] / scores.sum()))))
"""

MINICRAWL_PAGERANK = """
import scipy.sparse
from minicrawl.graph.csr import Csr
from minicrawl.ranks.pagerank import Terms, pagerank

def ranked(graph):
    found = pagerank(graph, terms=Terms(tolerance=error))
    assert found.converged
    return found.values
"""

MINICRAWL_HITS = """
import scipy.sparse
from minicrawl.graph.csr import Csr
from minicrawl.ranks.hits import hits

def ranked(graph):
    found = hits(graph, tolerance=error)
    assert found.converged
    return found.authorities.values
"""

FROM_ARRAYS = """
report(lambda starts, targets: ranked(Csr(starts=starts, targets=targets)))
"""

FROM_FILE = """
from pathlib import Path
from minicrawl.graphfiles import read
report(lambda text: ranked(read(text).graph), load=lambda: [Path(folder, "links.txt")])
"""

SCIPY = """
from scipy.sparse import csr_array, diags_array

def work(starts, targets):
    nodes = len(starts) - 1
    links = csr_array((np.ones(len(targets)), targets, starts), shape=(nodes, nodes))
    out = np.diff(starts)
    share = np.divide(1.0, out, where=out > 0, out=np.zeros(nodes))
    step, dangling = (diags_array(share) @ links).T.tocsr(), out == 0
    x, change = np.full(nodes, 1 / nodes), np.inf
    while change * DAMPING / (1 - DAMPING) > error:
        y = DAMPING * (step @ x + x[dangling].sum() / nodes) + (1 - DAMPING) / nodes
        change, x = np.abs(y - x).sum(), y
    return x
report(work)
"""

NETWORKIT = """
import networkit

def work(starts, targets):
    graph = networkit.graph.Graph(len(starts) - 1, directed=True)
    graph.addEdges(tuple(np.asarray(ends, dtype=np.uint64) for ends in pairs(starts, targets)))
    ranked = networkit.centrality.PageRank(
        graph, DAMPING, error, distributeSinks=networkit.centrality.SinkHandling.DistributeSinks
    )
    return ranked.run().scores()
report(work)
"""

IGRAPH = """
import igraph

def work(starts, targets):
    edges = np.column_stack(pairs(starts, targets))
    return igraph.Graph(len(starts) - 1, edges, directed=True).pagerank(damping=DAMPING)
report(work)
"""

RUSTWORKX = """
import rustworkx

def work(starts, targets):
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(len(starts) - 1))
    graph.extend_from_edge_list(list(zip(*(ends.tolist() for ends in pairs(starts, targets)))))
    scores = rustworkx.pagerank(graph, alpha=DAMPING, tol=error, max_iter=10_000)
    return [scores[node] for node in range(len(starts) - 1)]
report(work)
"""

SCIPY_HITS = """
from scipy.sparse import csr_array

def work(starts, targets):
    nodes = len(starts) - 1
    links = csr_array((np.ones(len(targets)), targets, starts), shape=(nodes, nodes))
    back, hubs, scores = links.T.tocsr(), np.ones(nodes), np.zeros((2, nodes))
    earlier, change = np.inf, np.inf
    while not (change < earlier < np.inf and change**2 / (earlier - change) <= error):
        authorities = back @ hubs
        hubs = links @ authorities
        hubs /= np.linalg.norm(hubs)
        found = np.stack([authorities / authorities.sum(), hubs / hubs.sum()])
        earlier, change, scores = change, np.abs(found - scores).sum(axis=1).max(), found
    return scores[0]
report(work)
"""

SVDS = """
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

def work(starts, targets):
    nodes = len(starts) - 1
    links = csr_array((np.ones(len(targets)), targets, starts), shape=(nodes, nodes))
    hubs, _, authorities = svds(links, k=1, v0=np.ones(nodes), tol=error)
    return abs(authorities[0])
report(work)
"""

IGRAPH_HITS = """
import igraph

def work(starts, targets):
    graph = igraph.Graph(len(starts) - 1, np.column_stack(pairs(starts, targets)), directed=True)
    graph.hub_score()
    return graph.authority_score()
report(work)
"""

RUSTWORKX_HITS = """
import rustworkx

def work(starts, targets):
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(len(starts) - 1))
    graph.extend_from_edge_list(list(zip(*(ends.tolist() for ends in pairs(starts, targets)))))
    _, scores = rustworkx.hits(graph, tol=error, max_iter=10_000)
    return [scores[node] for node in range(len(starts) - 1)]
report(work)
"""

WANT_OBJECTS = {"igraph", "rustworkx"}
"""Libraries that take links as Python objects, of hundreds of bytes each."""

OURS = "minicrawl"
OURS_FROM_FILE = "minicrawl, from a file"

RANKS = {
    "PageRank": {
        OURS: MINICRAWL_PAGERANK + FROM_ARRAYS,
        "scipy.sparse": SCIPY,
        "networkit": NETWORKIT,
        "igraph": IGRAPH,
        "rustworkx": RUSTWORKX,
        OURS_FROM_FILE: MINICRAWL_PAGERANK + FROM_FILE,
    },
    "HITS": {
        OURS: MINICRAWL_HITS + FROM_ARRAYS,
        "scipy.sparse": SCIPY_HITS,
        "scipy svds": SVDS,
        "igraph": IGRAPH_HITS,
        "rustworkx": RUSTWORKX_HITS,
        OURS_FROM_FILE: MINICRAWL_HITS + FROM_FILE,
    },
}
"""Programs for each rank, by name."""
