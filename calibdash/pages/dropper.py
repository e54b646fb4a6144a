"""A place to drop files whose pieces go straight to whoever keeps them."""

from __future__ import annotations

from typing import Any

import panel as pn
import param

PIECE_BYTES = 4_000_000  # well below the 20 MB that a server takes in one message
# Files that have arrived are listed by the page; the drop zone shows only those on their way.
STYLE = """
.filepond--root {
  margin-bottom: 0; min-height: 5.5em; font-family: inherit; overflow: hidden;
  border: 2px dashed rgba(128, 144, 160, 0.8) !important; border-radius: 8px; box-shadow: none !important;
}
.filepond--root:not(:has(.filepond--item:not([data-filepond-item-state="processing-complete"]))) {
  height: 5.5em !important;
}
.filepond--panel { display: none; }
.filepond--drop-label { color: inherit; min-height: 5.5em; }
.filepond--drop-label label { font-size: 1rem; cursor: pointer; }
.filepond--list-scroller { max-height: 170px; overflow-y: auto; }
.filepond--item { position: relative !important; transform: none !important; }
.filepond--item[data-filepond-item-state="processing-complete"] { display: none; }
"""


class StreamDropper(pn.widgets.FileDropper):
    """A FileDropper that keeps nothing: each piece is handed on as it comes, so that memory stays small."""

    taking: Any = param.Callable(doc="Called with name, number of the piece (from 1), number of pieces, and bytes.")

    _rename = {"value": None, "taking": None}  # noqa: RUF012 - as Panel spells it

    def __init__(self, **params: Any) -> None:
        super().__init__(chunk_size=PIECE_BYTES, multiple=True, previews=[], stylesheets=[STYLE], **params)

    def _process_event(self, event: Any) -> None:
        data = event.data
        if event.event_name == "upload_event":
            self.taking(str(data["name"]), int(data["chunk"]), int(data["total_chunks"]), bytes(data["data"]))


class WholeDropper(pn.widgets.FileDropper):
    """A FileDropper for one file at a time that takes no more than ``most_bytes``, whatever the browser was told."""

    most_bytes = param.Integer(1_000_000, doc="Size of the largest file; what goes beyond is let go.")

    _rename = {"most_bytes": None}  # noqa: RUF012 - as Panel spells it

    def __init__(self, **params: Any) -> None:
        super().__init__(chunk_size=PIECE_BYTES, max_files=1, **params)
        self._taken = 0

    def _process_event(self, event: Any) -> None:
        data = event.data
        if event.event_name == "upload_event":
            if data["chunk"] == 1:
                self._file_buffer.clear()
                self._taken = 0
            elif data["name"] not in self._file_buffer:
                return  # the rest of a file that was let go
            self._taken += len(data["data"])
            if self._taken > self.most_bytes:
                self._file_buffer.clear()
                return
        super()._process_event(event)
