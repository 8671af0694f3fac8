"""Finds the browser and starts it.

Law: the browser opens no connection to anywhere. Its proxy is a port that we hold and nobody
listens on, no name has an address, and UDP is disabled. Pages are handed to it. It sends no
requests of its own: no updates, no accounts, no form hints.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.errors import UsageError
from minicrawl.model import ParsedPage, Scripting, ScriptKind

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright


NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("chrome", "microsoft-edge", "brave-browser"),
)
"""Programs to look for, in this order."""
NO_PLAYWRIGHT = "--render needs playwright: install minicrawl[render]"
NO_BROWSER = "--render found no chromium: install one, or name it with --browser"
_NOWHERE = "http://127.0.0.1:9/"
"""URL on a port that browsers block: no connection is opened."""
_ARGUMENTS = (
    *(f"--component-updater=url-source={_NOWHERE}", f"--gaia-url={_NOWHERE}"),
    f"--autofill-server-url={_NOWHERE}",
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--dns-prefetch-disable", "--mute-audio"),
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)


def find_browser(named: Path | None) -> str:
    """Return the path of the browser; raises `UsageError` without a browser or playwright."""
    if find_spec("playwright") is None:
        raise UsageError(NO_PLAYWRIGHT)
    if named is not None:
        if not os.access(named, os.X_OK) or named.is_dir():
            raise UsageError(f"--browser {named}: there is no such program")
        return str(named.absolute())
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise UsageError(NO_BROWSER)
    return found


def dead_end() -> socket.socket:
    """Return a socket whose port is ours and refuses every connection, until it is closed."""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))  # nobody else can listen there, and we do not
    return held


async def launch(playwright: Playwright, program: str, proxy: socket.socket) -> Browser:
    """Start the browser, with a proxy that leads nowhere.

    As root, chromium refuses to use its sandbox.
    """
    host, port = proxy.getsockname()
    return await playwright.chromium.launch(
        executable_path=program,
        args=list(_ARGUMENTS),
        chromium_sandbox=os.geteuid() != 0,
        proxy={"server": f"http://{host}:{port}"},
        handle_sigint=False,
        handle_sigterm=False,
        handle_sighup=False,
        timeout=20_000,
    )


# ================================================================ process tree
#
# Memory and processor time of a process and its descendants, as Linux reports them.

_PROC = Path("/proc")
_PAGE_BYTES, _TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
_DROP_CAPABILITY, _SET_PRIORITY = 24, 23  # PR_CAPBSET_DROP, CAP_SYS_NICE
_PARENT, _FIRST_TIME, _AFTER_TIMES = 1, 11, 15
"""Fields of /proc/PID/stat behind the name. Those of time include dead children."""


class Use(NamedTuple):
    """Unshared memory in bytes, and processor time in seconds so far."""

    memory: int
    cpu_s: float


def descendants(of: int) -> list[int]:
    """Return the descendants of a process; none where the system has no /proc."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.iterdir() if _PROC.is_dir() else ():
        if folder.name.isdecimal() and (fields := _stat(int(folder.name))):
            children.setdefault(int(fields[_PARENT]), []).append(int(folder.name))
    found, new = list[int](), [of]
    while new:
        new = [child for one in new for child in children.get(one, ())]
        found += new
    return found


def use(of: int) -> Use:
    """Return the time of a process and its descendants, and the descendants' memory."""
    tree = descendants(of)
    ticks = sum(_ticks(pid) for pid in (of, *tree))
    return Use(sum(map(_own_bytes, tree)), ticks / _TICKS)


def kill_descendants(of: int) -> None:
    """Kill the descendants of a process."""
    for pid in descendants(of):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def stay_behind() -> None:
    """Keep future child processes from raising their priority, as a browser of root does."""
    with suppress(OSError, AttributeError):  # not on Linux
        ctypes.CDLL(None).prctl(_DROP_CAPABILITY, _SET_PRIORITY, 0, 0, 0)


def _stat(pid: int) -> list[str]:
    """Return the fields behind the name, or none if the process has ended."""
    with suppress(OSError):
        return (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return []


def _ticks(pid: int) -> int:
    return sum(map(int, _stat(pid)[_FIRST_TIME:_AFTER_TIMES]))


def _own_bytes(pid: int) -> int:
    with suppress(OSError):
        fields = (_PROC / str(pid) / "statm").read_text().split()
        return (int(fields[1]) - int(fields[2])) * _PAGE_BYTES
    return 0


# ================================================================ in page
#
# JavaScript that runs inside pages.
#
# Laws: no page opens a window, a dialog or a way to other machines; shadow roots are always open to
# us. A page is read as the HTML of its DOM, with each shadow tree where it is shown.

BEFORE_SCRIPTS = """(() => {
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (init) {
    return attach.call(this, { ...init, mode: "open" });
  };
  const nothing = () => null;
  for (const name of ["open", "print", "alert", "confirm", "prompt"]) window[name] = nothing;
  const gone = ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport", "SharedWorker"];
  for (const name of gone) delete window[name];
})();"""
"""Runs before any script of the page, in each of its frames."""

NEXT_FRAMES = "() => new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))"
"""Ends when the page has been drawn twice: all observers of the first frame have run by then."""

READ_DOM = r"""(most) => {
  const root = document.documentElement;
  if (!root) return "";
  const EMPTY = new Set(["area", "base", "br", "col", "embed", "frame", "hr", "img", "input",
    "link", "meta", "param", "source", "track", "wbr"]);
  const RAW = new Set(["script", "style", "noscript", "iframe", "xmp", "noembed", "noframes",
    "plaintext"]);
  let hasShadow = false;
  for (const one of root.querySelectorAll("*")) if (one.shadowRoot) { hasShadow = true; break; }
  const head = "<!DOCTYPE html>";
  if (!hasShadow) return (head + root.outerHTML).slice(0, most);
  const parts = [];
  let length = 0;
  const add = (text) => { parts.push(text); length += text.length; };
  const inText = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const inValue = (text) => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;");
  const closing = (text) => ({ text });
  // Not by recursion: scripts can nest deeper than the stack.
  const waiting = [root];
  const later = (nodes) => { for (let i = nodes.length - 1; i >= 0; i--) waiting.push(nodes[i]); };
  while (waiting.length && length < most) {
    const node = waiting.pop();
    if (node.text !== undefined && node.nodeType === undefined) { add(node.text); continue; }
    if (node.nodeType === Node.TEXT_NODE) {
      const parent = node.parentNode;
      const isRaw = parent && parent.localName && RAW.has(parent.localName);
      add(isRaw ? node.data : inText(node.data));
      continue;
    }
    if (node.nodeType !== Node.ELEMENT_NODE) continue;
    const name = node.localName;
    let tag = "<" + name;
    for (const one of node.attributes) tag += " " + one.name + '="' + inValue(one.value) + '"';
    add(tag + ">");
    if (EMPTY.has(name)) continue;
    waiting.push(closing("</" + name + ">"));
    if (node.shadowRoot) {
      later([...node.childNodes].filter((one) => !one.assignedSlot));
      later([...node.shadowRoot.childNodes]);
    } else if (name === "slot" && node.assignedNodes().length) {
      later(node.assignedNodes());
    } else if (name === "template") {
      later([...node.content.childNodes]);
    } else {
      later([...node.childNodes]);
    }
  }
  return (head + parts.join("")).slice(0, most);
}"""
"""Function that returns the DOM as HTML, with at most `most` characters."""


# ================================================================ policy
#
# Learns host by host, and template by template, whether pages gain links by rendering.
#
# Laws: a page without scripts is never rendered. A template without gain in a few tries is not
# rendered again, and neither is a host whose pages never gained anything. The table is bounded;
# what it forgets is learned again.
#
# template   pages of a host with the same scripts
# gain       link that the page does not have without its scripts, or a redirect

TRIES = {ScriptKind.SHELL: 3, ScriptKind.SOME: 2}
"""Number of renderings of a template before it is judged."""
WORTH = 0.2
"""Least share of a template's pages that must gain."""
HOST_TRIES = 12
"""Number of renderings of a host without any gain before it is given up."""
_MOST_KNOWN = 20_000


@dataclass(slots=True)
class _Record:
    """Numbers of renderings and of gains."""

    rendered: int = 0
    gained: int = 0


class RenderPolicy:
    """Gains of hosts and of their templates."""

    def __init__(self) -> None:
        self._known = OrderedDict[tuple[str, int], _Record]()

    def is_worth(self, host: str, scripting: Scripting) -> bool:
        """Return whether to render a page with these scripts."""
        if scripting.kind is ScriptKind.NONE:
            return False
        of_host = self._known.get((host, 0), _Record())
        if not of_host.gained and of_host.rendered >= HOST_TRIES:
            return False
        known = self._known.get((host, scripting.signature), _Record())
        is_tried = known.rendered >= TRIES[scripting.kind]
        return not is_tried or known.gained >= WORTH * known.rendered

    def learn(self, host: str, scripting: Scripting, *, has_gained: bool) -> None:
        """Count the rendering of a page with these scripts."""
        for key in {(host, 0), (host, scripting.signature)}:
            known = self._known.pop(key, None) or _Record()
            known.rendered += 1
            known.gained += has_gained
            self._known[key] = known
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)


def has_gained(before: ParsedPage, after: ParsedPage) -> bool:
    """Return whether rendering brought a new link or redirect."""
    if after.refresh is not None and after.refresh != before.refresh:
        return True
    return not set(after.links) <= set(before.links)
