"""What was fetched and kept.

pages      pages as they were fetched
pdf_apart  reads a PDF in a process of its own
stored     what a store has stored, part by part
"""
