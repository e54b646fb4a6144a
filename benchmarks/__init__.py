"""Benchmarks: speed, memory and accuracy, as ratios within one run."""
