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
    "--data-dir", type=FOLDER, default=Path(), metavar="DIR", help="Where runs are kept (DIR/runs).  [default: here]"
)
@click.option("--open/--no-open", "show", default=False, help="Open a browser.")
def serve(folders: tuple[Path, ...], port: int, address: str, data_dir: Path, show: bool) -> None:
    """Serve the dashboard on network folders, or on folders of such folders (default: here)."""
    from calibdash.state.folders import find_folders

    found = find_folders(folders or (Path.cwd(),))
    say(f"Loading the dashboard with {len(found)} folders…")
    import panel as pn

    from calibdash.pages.site import build, queue_in

    queue = queue_in(data_dir.resolve())

    server = pn.serve(
        {"/": lambda: build(found, queue)},
        port=port,
        address=address,
        show=show,
        start=False,
        title="calibdash",
        verbose=False,
    )
    say(f"calibdash is at http://{'localhost' if address == '127.0.0.1' else address}:{server.port} (Ctrl+C stops it)")
    server.run_until_shutdown()
