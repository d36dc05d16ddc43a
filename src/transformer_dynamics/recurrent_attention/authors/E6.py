"""Table S.3 has a norm of gamma that is smaller than its largest entry."""

PRINTED = {
    4: (0.229, 0.229), 8: (0.031, 0.052), 16: (0.098, 0.098), 32: (0.348, 0.348),
    64: (0.489, 0.489), 128: (0.841, 0.841), 256: (0.738, 0.738), 512: (0.811, 0.811),
}  # fmt: skip

print("Paper, Table S.3: |gamma| and max_j |gamma_j| of trained ItrSA.")
for size, (norm, largest) in PRINTED.items():
    if norm < largest:
        print(f"N = {size}: |gamma| = {norm} is below max_j |gamma_j| = {largest}")
same = [size for size, (norm, largest) in PRINTED.items() if norm == largest]
print(f"N = {', '.join(map(str, same))}: both are equal")
print("No 2-norm is below its largest entry, and it equals it only if all other entries are 0,")
print("or if gamma is one number.")
