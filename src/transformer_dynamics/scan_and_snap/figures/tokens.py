"""How common and distinct tokens are told apart, with and without colour."""

TOKEN_STYLES = {"common": ("0.75", "//"), "distinct": ("#31688e", "")}
"""Kind of token to colour and hatch of its bars."""
