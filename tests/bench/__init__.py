"""Benchmarks, which are run by hand with `python -m tests.bench.NAME`, never as tests.

A single time on a noisy machine says little, so benchmarks repeat, take medians, and report ratios
that were measured in one run.
"""
