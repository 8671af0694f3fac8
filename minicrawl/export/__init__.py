"""Pages as files for other programs.

formats      formats by suffix; CSV, TSV, JSONL, Parquet
cells        a page as a row; escaping of untrusted text for spreadsheets and terminals
drawings     graphs: GraphML, GEXF, DOT
warc         web archives: WARC and WACZ
site_report  the report on a site as one HTML file
drafts       atomic file replacement, and temporary files
"""
