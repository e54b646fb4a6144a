"""A scratch database that may be larger than memory and is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager

import duckdb

MEMORY_LIMIT = "1500MB"  # of DuckDB's buffers; the rest waits on disk


@contextmanager
def scratch_database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection in UTC that loads no extension, reads no Python variable and leaves no file."""
    with tempfile.TemporaryDirectory(prefix="calibdash-") as folder:
        connection = duckdb.connect(
            ":memory:",
            config={
                "memory_limit": MEMORY_LIMIT,
                "temp_directory": folder,
                "preserve_insertion_order": False,  # rows carry their number; streams need not wait for each other
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "python_enable_replacements": False,  # a name in a query is a table, never a Python variable
            },
        )
        with closing(connection):
            connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
            yield connection
