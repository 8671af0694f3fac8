"""Servers of minicrawl beside hostile clients: `python -m tests.proofs.doors`.

One client after the other of the catalogue attacks each server, while another client asks. All its
requests are answered.
"""
