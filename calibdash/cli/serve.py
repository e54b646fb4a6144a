"""``calibdash serve``: the dashboard."""

from __future__ import annotations

from pathlib import Path

import click

from calibdash.cli.options import FOLDER
from calibdash.cli.output import say


@click.command()
@click.argument("folders", type=FOLDER, metavar="[DIR]...", nargs=-1)
@click.option("--port", type=click.IntRange(0, 65535), default=5006, show_default=True, help="0 takes a free one.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--data-dir", type=FOLDER, default=Path(), metavar="DIR", help="Keeps runs and added networks.  [default: here]"
)
@click.option("--scheduler", default="", metavar="tcp://HOST:PORT", help="Run fits on this Dask cluster.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Fits at a time.")
@click.option("--open/--no-open", "show", default=False, help="Open a browser.")
def serve(
    folders: tuple[Path, ...], port: int, address: str, data_dir: Path, scheduler: str, workers: int, show: bool
) -> None:
    """Serve the dashboard on network folders, or on folders of such folders (default: here)."""
    from calibdash.state.folders import find_folders

    found = find_folders(folders or (Path.cwd(),))
    say(f"Loading the dashboard with {len(found)} folders…")
    import panel as pn

    from calibdash.pages.site import build, queue_in, shelf_in

    queue, shelf = queue_in(data_dir.resolve(), scheduler, workers), shelf_in(data_dir.resolve())

    server = pn.serve(
        {"/": lambda: build(found, queue, shelf)},
        port=port,
        address=address,
        show=show,
        start=False,
        title="calibdash",
        verbose=False,
    )
    say(f"calibdash is at http://{'localhost' if address == '127.0.0.1' else address}:{server.port} (Ctrl+C stops it)")
    server.run_until_shutdown()
