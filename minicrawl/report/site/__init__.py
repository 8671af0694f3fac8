"""Reports on a site in one file.

site_report    content of the HTML report
html_report    the report as one self-contained HTML file
crawl_picture  a crawl in one picture
"""
