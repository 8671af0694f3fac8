"""Processes: how children are started and limited, and what processes take.

child_interpreter  the interpreter of a child, which ends with its parent
limits             limits of memory and time
allocator          settings of glibc's allocator for large arrays
garbage_collector  rare garbage collections
measures           memory and processor time, as Linux reports them
"""
