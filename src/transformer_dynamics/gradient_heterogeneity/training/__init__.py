"""Networks, optimisers, the training loop, and the programs that have `train`.

`loop` is the algorithm. The programs are `runs` (whole networks), `heads` (heads on features that
stay), `measured_networks` and `placement_pairs` (networks that are measured before and after
training). Metrics read what these return by the names in `record`, which needs no PyTorch.
"""
