"""`python -m benchmarks`."""

from benchmarks.speed import main

main()
