"""The page of a study: what the paper claims, what holds, and the evidence.

A rule makes the page from results. A command makes it from the reference, and computes nothing.
"""
