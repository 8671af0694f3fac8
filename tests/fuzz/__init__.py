"""Bytes that nobody would write, for every reader of what others wrote."""
