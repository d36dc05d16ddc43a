"""Figures of this study: each module has the settings, the table and the picture of one figure.

`labels` has the names and styles that figures share. Modules that draw are imported where they are
needed, as these settings are a part of the configuration.
"""
