"""Pages as files for other programs.

formats      formats by suffix; CSV, TSV, JSONL, Parquet
cells        a page as a row; text from strangers as harmless cells
drawings     graphs: GraphML, GEXF, DOT
warc         web archives; web archives
site_report  the report on a site as one HTML file
drafts       a file is there whole or not at all
"""
