"""`minicrawl crawl` and `minicrawl update`: from the command line to the exit code of a run.

command   the two commands
seeds     URLs, files of URLs, and stdin
session   one run: its summary and exit code
watching  progress and signals while a crawl runs
keyboard  keys while a crawl runs
logs      events as log lines
notices   what --notify posts after a run

display        the panel or the lines that show a running crawl
display_state  what they show, and its text
"""
