"""The released code writes the embeddings' Jacobian of sample i to row 8 i of the kernel."""

N, BATCH = 250, 8
rows: dict[int, int] = {}
for sample in range(N):
    # Batches of one sample, placed as if each had as many samples as one of evaluation.
    first = sample * BATCH
    if first < N:
        rows[first] = sample
wrong = [row for row, sample in rows.items() if row != sample]

print("Released code: Jacobians are taken of one sample at a time, and that of sample i is")
print(f"  written to row i * {BATCH}, the batch size of evaluation; kernels have {N} samples.")
print(f"Rows of the embeddings' part that are filled: {len(rows)} of {N}")
print(f"  of these, with another sample's Jacobian: {len(wrong)}, such as row 8 with sample 1")
print("So that part of F is 0 or of another sample in all rows but the first;")
print("  please say whether Tables 2 and 9 were made with this code.")
