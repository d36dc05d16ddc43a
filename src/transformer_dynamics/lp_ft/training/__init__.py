"""Training: the three programs with `train`, and what they need.

`runs` trains one method from one seed, by the steps of `loop` or by linear probing. `kernels` and
`head_control` train nothing but a probe: they compute kernels and FT ratios at the start of
fine-tuning. Everything that runs or differentiates an encoder belongs here.
"""
