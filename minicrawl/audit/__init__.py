"""Audit of a site for its owner: lists issues, and names those that it could not check.

commands         `minicrawl audit`
page_facts       facts of one page, from its markup and its headers
noted_facts      facts of all pages, saved beside the store
site             columns of them for the checks
link_columns     counts of links of each page
checks           the table of checks
findings         runs the checks, and compares what they find with a baseline
formats          JSON, CSV, SARIF and JUnit
xlsx             a workbook of spreadsheets
report_sections  sections of the site report
"""
