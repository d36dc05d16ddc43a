"""Section 5.4 says consistently of what Appendix A.4.5 restricts to large norms, without CB."""

WHOLE = "LP-FT consistently shows smaller feature differences than FT"
PART = "Except for the CB dataset, the change in features in LP-FT is generally smaller"

print("Paper, Section 5.4, on Figures 3, 10 and 11:")
print(f'  "{WHOLE}"')
print("Paper, Appendix A.4.5, on Figures 10 and 11:")
print(f'  "{PART}')
print('   than in FT when using large classifier norms."')
print("So the first sentence holds with two conditions: large norms, and not CB.")
