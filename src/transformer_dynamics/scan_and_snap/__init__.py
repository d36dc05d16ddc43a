"""Tian, Wang, Chen, Du: Scan and Snap (NeurIPS 2023), computed."""
