"""HTML to PDF by a browser, where there is one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from calibdash.data.files import write_atomically
from calibdash.errors import CalibdashError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-pdf-header-footer",
)
SECONDS = 180


def find_browser() -> str | None:
    """The path of a Chromium or its kin."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def write_pdf(html: Path, pdf: Path) -> None:
    """Print a local page."""
    browser = find_browser()
    if browser is None:
        raise CalibdashError(
            "There is no browser to print the PDF with.",
            f"Install Chromium, or open {html.name} in any browser and print it to a file.",
        )
    with tempfile.TemporaryDirectory(prefix="calibdash-pdf-") as scratch:
        made = Path(scratch) / "page.pdf"
        command = [browser, *FLAGS, *_sandbox(), f"--user-data-dir={scratch}/profile", f"--print-to-pdf={made}"]
        try:
            subprocess.run(  # noqa: S603 (our own flags, and a path of ours)
                [*command, html.resolve().as_uri()], capture_output=True, timeout=SECONDS, check=True
            )
            data = made.read_bytes()
        except (OSError, subprocess.SubprocessError) as reason:
            raise CalibdashError(
                f"The browser could not print {html.name}.", "Open it in a browser and print it there."
            ) from reason
    write_atomically(pdf, lambda file: file.write(data))


def _sandbox() -> tuple[str, ...]:
    """Chromium refuses to run as root with its sandbox; the page is ours and runs no script."""
    import os

    return ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
