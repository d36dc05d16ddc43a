"""Bars of Figures 10 and 11 are standard errors by their caption, deviations by the appendix."""

print("Paper, captions of Figures 10 and 11:")
print('  "Solid lines show mean values; shaded areas represent standard errors."')
print("Paper, Appendix A.3.3, on the same: averages over 5 or 3 seeds,")
print('  "plotting these with their standard deviations"')
for seeds in (5, 3):
    print(f"  With {seeds} seeds a deviation is {seeds**0.5:.3f} standard errors.")
print("Paper, Figure 6 (a): titled FT, where the caption is about LoRA.")
print("So one of the two names for the shaded areas, and the title, are to be corrected.")
