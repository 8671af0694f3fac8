"""Benchmarks: run by hand with `python -m tests.bench.NAME`, never as tests.

A lone time on a noisy machine says little; each of them repeats, takes the median, and reports
ratios measured in one run.
"""
