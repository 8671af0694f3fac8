"""`minicrawl crawl`: the command, its display and its log.

command      the options, and what a run does first and last
session      one run: its display, its summary, its exit code
seed_lists   seeds from arguments, files and stdin
preview      what --dry-run shows
live, panel  the display: lines, or a panel on a terminal
keys         keys that the user presses
logs         events as lines of a log
watching     shows progress and hears signals while the crawl runs
indexing     --index
control      `minicrawl control`
refine       `minicrawl refine`
"""
