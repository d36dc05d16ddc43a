"""Figures 6 and S.6 cannot show sums over the same boards."""

# Read off the figures at t = 15; a board of 81 cells with D = 512 has oscillators of N = 4.
ENERGY, FORM = -8.7e6, -1.2e5
OSCILLATORS = 81 * 512 // 4

print(f"Paper: E_pseudo is {ENERGY:.2g} in Figure 6, its quadratic form {FORM:.2g} in Figure S.6.")
print(f"One board has {OSCILLATORS} oscillators of length 1.")
for boards in (1, 100):
    energy, form = ENERGY / OSCILLATORS / boards, FORM / OSCILLATORS / boards
    print(f"As sums over {boards} boards: {energy:.3g} and {form:.3g} for each oscillator")
print(f"The form is {FORM / ENERGY:.2g} of the energy, whatever the number of boards.")
print(
    "Of the same boards both need forces of that many lengths; the first fits a sum over a batch."
)
