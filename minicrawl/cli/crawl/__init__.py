"""`minicrawl crawl`: the command, its display and its log.

command     the options, and the start and end of a run
session     one run: its display, its summary, its exit code
seed_lists  seeds from arguments, files and stdin
preview     the output of --dry-run
live        the line display; keys and signals while the crawl runs
panel       the display on a terminal
logs        events as lines of a log
companions  extensions of `crawl` by other packages: options, a web, a dashboard
control     `minicrawl control`
refine      `minicrawl refine`
"""
