"""``python -m calibdash``."""

from calibdash.cli.main import main

main()
