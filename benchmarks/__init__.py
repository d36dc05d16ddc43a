"""Timings. They never decide a test: machines differ and are shared."""
