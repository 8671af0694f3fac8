"""Audit of a site for its owner: lists issues, and names those that it could not check.

commands         `minicrawl audit`
facts            facts of pages, read once and saved beside the store
site             columns of them for the checks
link_columns     counts of links of each page
url_columns      what the URLs of pages are like
detectors        ways to find issues
checks           the table of checks; checks.txt names and explains them
accessibility    checks that a browser makes, by axe-core
ignores          issues that the owner of a site accepts, until a day
causes           what one change mends: a file, a host, a folder, a group of pages
places           the place of a fault on a page
findings         runs the checks, and compares what they find with an earlier result
built_site       a built folder as a site, and the crawl of a site before its audit
formats          JSON, CSV, SARIF, JUnit and a workbook of spreadsheets
report_sections  sections of the site report
"""
