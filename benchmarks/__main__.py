"""``python -m benchmarks [--quick] [NAME…]``: run all benchmarks, or those named."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

NAMES = sorted(file.stem for file in Path(__file__).parent.glob("[a-z]*.py"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(NAMES)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="smaller cases")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    for name in arguments.names or NAMES:
        importlib.import_module(f"benchmarks.{name}").main(quick=arguments.quick)


main()
