"""Runs: what a fit or a multi-hop calculation leaves on disk."""
