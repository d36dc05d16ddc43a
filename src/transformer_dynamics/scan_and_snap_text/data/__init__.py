"""Data: the texts of a corpus, cut into words and numbered as the authors did."""
