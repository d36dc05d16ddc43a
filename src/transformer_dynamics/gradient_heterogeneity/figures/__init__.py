"""Figures of this study: each module has the settings, the table and the drawing of one figure.

`labels` has the names and styles that figures share. Modules of drawing are imported where they are
needed, as these settings are a part of the configuration.
"""
