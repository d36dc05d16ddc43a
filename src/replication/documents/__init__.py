"""Documents that are generated: claims, methods, pages for authors, the RO-Crate.

All of them follow from registries, settings and references. A test compares them with the files.
"""
