"""Audit of a site for its owner: lists issues, and names those that it could not check.

page_facts  facts of one page, from its markup and its headers
site        facts of all pages, saved beside the store, and columns of them for the checks
checks      the table of checks; runs them, compares with a baseline, and writes JSON, CSV, XLSX,
            SARIF and JUnit
commands    `minicrawl audit`
"""
