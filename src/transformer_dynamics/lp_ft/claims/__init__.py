"""Claims: from metrics, printed tables and the theory to the evidence that a claim is judged by.

Every public function that returns a table is the `measure` of a claim of `registry.yaml`, and
returns columns `cell`, `value` and, where there are any, `seed`.
"""
