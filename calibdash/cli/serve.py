"""``calibdash serve``: the dashboard."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import click

from calibdash.cli.options import FOLDER
from calibdash.cli.output import say
from calibdash.cli.serve_access import access_options, service_of

GARBAGE = (20_000, 10, 10)  # objects before Python looks for rings of them: a page makes hundreds of thousands


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
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Of stderr.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="What is worth a line.",
)
@access_options
def serve(
    folders: tuple[Path, ...],
    port: int,
    address: str,
    data_dir: Path,
    scheduler: str,
    workers: int,
    show: bool,
    log_format: str,
    log_level: str,
    **access: Any,
) -> None:
    """Serve the dashboard on network folders, or on folders of such folders (default: here)."""
    from calibdash.state.folders import find_folders

    service = service_of(address=address, port=port, **access)
    found = find_folders(folders or (Path.cwd(),))
    tell = say if log_format == "text" else lambda _: None  # who reads JSON wants nothing else
    for warning in service.warnings():
        tell(warning)
    tell(f"Loading the dashboard with {len(found)} folders…")
    from calibdash.pages.site import build, queue_in, seen, shelf_in
    from calibdash.pages.warm import warm
    from calibdash.service.health import health_routes
    from calibdash.service.logs import set_up_logs
    from calibdash.service.server import start
    from calibdash.service.stopping import stop

    set_up_logs(log_format, log_level)
    data = data_dir.resolve()
    queue, shelf = queue_in(data, scheduler, workers), shelf_in(data)
    warm(lambda: build(found, queue, shelf))
    routes = health_routes(lambda: queue)
    server = start(
        service,
        data,
        lambda person: build(found, queue, shelf, person),
        lambda person: seen(found, shelf, person),
        show=show,
        extra_patterns=routes,
    )
    host = "localhost" if address == "127.0.0.1" else address
    scheme = "https" if service.certificate else "http"
    tell(f"calibdash is at {scheme}://{host}:{server.port}{server.prefix} (Ctrl+C stops it)")
    gc.collect()
    gc.freeze()  # what was loaded stays: looking through it again and again would hold up every page
    gc.set_threshold(*GARBAGE)
    server.run_until_shutdown()
    stop(queue)
