"""The look of figures: style, layout, panels, numbers as text, and the marks that a figure shows.

Studies draw with these modules. Nothing here knows a study or a claim.
"""

__all__ = ["drawn_numbers", "layout", "panels", "style", "typeset"]
