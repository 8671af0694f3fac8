"""Graphs in files: read from what others wrote, and laid out on disk where memory is too small."""
