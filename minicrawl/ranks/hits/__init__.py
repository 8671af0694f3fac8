"""HITS and what is built on eigenvectors of the link matrix."""
