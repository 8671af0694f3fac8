"""Audit of a site for its owner: lists issues, and names those that it could not check.

page_facts  facts of one page, from its markup and its headers
site        facts of all pages, saved beside the store, and columns of them for the checks
checks      the table of checks
commands    `minicrawl audit`: runs the checks, compares with a baseline, and writes the findings as
            JSON, CSV, XLSX, SARIF or JUnit
"""
