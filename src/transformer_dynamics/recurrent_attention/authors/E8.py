"""The public generator makes 198,000 puzzles of which a model trains on 180,000."""

TRAIN, VALID, TEST = 180_000, 18_000, 18_000

print("Paper, Appendix B.1: the data have 198k samples.")
print(f"Public generator: {TRAIN} for training, {VALID} for validation, {TEST} for the test.")
print(f"Training and validation: {TRAIN + VALID}; all three: {TRAIN + VALID + TEST}.")
print("198k is the number without the test, of which the published accuracies are.")
