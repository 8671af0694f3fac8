"""Modules shared by the commands: options, tables, stores, progress.

options    settings as options of commands
stores     the store or graph file that a command reads, and the pages of it; progress of long
           tasks, on stderr
clusters   --cluster, provided by the package that crawls in shards
tables     output: tables and facts, or JSON
figures    the shape of a graph in words
"""
