"""Printed norms of F^LoRA tell whether alpha was 8, as in the paper, or 16, as in the code."""

R, WIDTH = 8, 768
FT = {"CB": (22.6, 1.39e4), "RTE": (25.1, 1.29e4), "BoolQ": (24.8, 1.24e4), "WiC": (25.8, 1.45e4)}
LP = {"CB": (1.51e4, 7.25e6), "RTE": (7.6e3, 3.8e6), "BoolQ": (8.56e3, 4.46e6)}

print("Paper: LoRA with r = alpha = 8 on queries and values, Adam. Released script of the")
print("  kernels: alpha is left at 16, and it tests on the held-out tenth; training has AdamW.")
print("A is uniform of variance 1/(3 * 768), so that E F^LoRA = scalar * F of these matrices.")
for alpha in (8, 16):
    scalar = R * (alpha / R) ** 2 / (3 * WIDTH)
    shares = [f"{lora / full / scalar:.3f}" for heads in (FT, LP) for lora, full in heads.values()]
    print(f"  alpha = {alpha}: scalar {scalar:.5f}; FN(F^LoRA)/FN(F)/scalar of Tables 2 and 9:")
    print(f"    {', '.join(shares)}")
print("So queries and values would have about half of F, or about an eighth of it;")
print("  please say which alpha Tables 2 and 9 have.")
