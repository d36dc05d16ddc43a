"""From metrics, from tables as printed and from the theory to the evidence of claims."""
