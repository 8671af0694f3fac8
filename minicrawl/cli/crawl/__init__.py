"""`minicrawl crawl`: the command, its display and its log.

command     the options, and what a run does first and last
session     one run: its display, its summary, its exit code; --index
seed_lists  seeds from arguments, files and stdin
preview     what --dry-run shows
live        the display: lines, or a panel on a terminal; the display: lines, or a panel on a
            terminal; shows progress and hears signals while the crawl runs; keys that the user
            presses
logs        events as lines of a log
control     `minicrawl control`
refine      `minicrawl refine`
"""
