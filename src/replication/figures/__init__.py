"""The look of figures: style, panels, numbers as text, marks, and words for no mark.

Studies draw with these modules. Nothing here knows a study or a claim.
"""
