"""Table S.4 compares a GPT-2 that is overfitted with an ItrSA that is less so."""

from math import exp

# Training and validation loss, nats per token.
PRINTED = {"GPT-2": (1.49, 5.58), "ItrSA": (4.31, 5.67)}

print("Paper, Table S.4: losses of training and of validation, and what lies between them.")
for model, (training, validation) in PRINTED.items():
    gap = validation - training
    print(
        f"{model}: {training} and {validation}, {gap:.2f} apart, {exp(gap):.3g} times in perplexity"
    )
print("GPT-2 has learnt its training text by heart. The least validation loss on the way there")
print("is not in the table, and only that could be compared.")
