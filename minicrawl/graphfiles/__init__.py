"""Graph files.

reading  graphs from files of text, plain or gzipped, and the names of their nodes
saved    graphs saved with their distances and components
"""
