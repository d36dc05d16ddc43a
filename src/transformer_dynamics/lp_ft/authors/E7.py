"""Norms in Table 13 fall in 11 of 45 places, where its caption has them increase."""

SETS = ["CB", "RTE", "CoLA", "SST-2", "MRPC", "BoolQ", "WiC", "WSC", "Amazon"]
NORMS = {
    "pretrained": (0.947, 0.795, 0.795, 0.795, 0.795, 0.795, 0.795, 0.795, 0.951),
    "FT": (0.951, 0.805, 0.788, 0.720, 0.798, 0.798, 0.798, 0.687, 0.947),
    "LoRA": (1.56, 1.45, 1.06, 1.96, 1.35, 1.15, 1.14, 0.788, 1.67),
    "LP": (33.5, 28.6, 34.6, 132, 11.2, 12.7, 32.1, 2.26e-4, 121),
    "LP-FT": (33.5, 28.6, 34.6, 109, 11.2, 12.7, 32.5, 0.108, 121),
    "LP-LoRA": (33.5, 28.5, 35.1, 103, 11.2, 12.5, 32.7, 0.0216, 120),
}

print('Paper, Table 13: "The classifier weight norms increase during training".')
number = 0
for method, after in NORMS.items():
    if method == "pretrained":
        continue
    start = "LP" if method.startswith("LP-") else "pretrained"
    falls = [
        f"{name} {old:g} to {new:g}"
        for name, old, new in zip(SETS, NORMS[start], after, strict=True)
        if new < old
    ]
    number += len(falls)
    print(f"  {method}, from {start}, falls on: {', '.join(falls)}")
print(f"So {number} of {5 * len(SETS)} printed norms are smaller after training than before.")
