"""What the commands share: options, tables, stores, progress.

options    settings as options of commands
stores     which store or graph file a command reads, and which of its pages; progress of long
           tasks, on stderr
clusters   what --cluster does, by the package that crawls in shards
tables     output: tables and facts, or JSON
figures    the shape of a graph in words
"""
