"""CB has 56 test samples, not the 57 of Table 7."""

MEANS = {"LP": 77.86, "FT": 81.43, "LP-FT": 84.64, "LoRA": 77.50, "LP-LoRA": 75.71}
SEEDS = 5

print("Paper, Table 7: CB has 57 test samples. Table 8: mean accuracies over five seeds.")
for samples in (57, 56):
    size = SEEDS * samples
    counts = {name: value / 100 * size for name, value in MEANS.items()}
    possible = sum(abs(c - round(c)) <= size * 0.005 / 100 for c in counts.values())
    told = ", ".join(f"{name} {count:.2f}" for name, count in counts.items())
    print(f"  times {SEEDS} * {samples} = {size}: {told}")
    print(f"    {possible} of {len(MEANS)} are whole numbers, up to rounding of the percentage")
print("So the test set has 56 samples.")
