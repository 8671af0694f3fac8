"""Audit of a site for its owner: lists issues, and names those that it could not check.

page_facts  facts of one page, from its markup and its headers
noting      saves the facts of kept pages beside the store; reads each page once
site        columns of a whole store, which the checks read
checks      the table of checks
findings    runs the checks, and compares with a baseline
outputs     formats for programs: JSON, CSV, XLSX, SARIF and JUnit
commands    `minicrawl audit`
"""
