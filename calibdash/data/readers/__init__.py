"""Readers of what people bring: monitors, archives and label exports into calibdash's tables."""

from calibdash.data.readers.importing import Imported, import_files
from calibdash.data.readers.options import ReadOptions
from calibdash.data.readers.registry import SOURCES, detect, source_named
from calibdash.data.readers.source import Source

__all__ = ["SOURCES", "Imported", "ReadOptions", "Source", "detect", "import_files", "source_named"]
