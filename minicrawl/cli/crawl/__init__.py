"""`minicrawl crawl`: the command, its display and its log.

command     the options, and what a run does first and last
session     one run: its display, its summary, its exit code
seed_lists  seeds from arguments, files and stdin
preview     what --dry-run shows
live        the display in lines; keys that the user presses; signals while the crawl runs
panel       the display on a terminal
logs        events as lines of a log
companions  what other packages add to `crawl`: options, a web, a dashboard beside it
control     `minicrawl control`
refine      `minicrawl refine`
"""
