"""One self-contained page: what a paper claims, what holds, and the evidence."""
