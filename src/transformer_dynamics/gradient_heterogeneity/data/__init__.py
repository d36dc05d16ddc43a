"""Samples of all experiments, and published networks as they are read from their files.

The programs `images`, `pretrained` and `vocabulary` have `sample`: they turn files into arrays that
runs share. The other modules draw the samples of a seed (`texts`, `batches`), build published
networks (`efficientnet`, `vit`) and write small synthetic files of the same forms (`synthetic`).
"""
