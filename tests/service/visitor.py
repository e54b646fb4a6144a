"""A visitor without a browser: the page's own websocket and messages, but nothing is drawn.

What comes over the wire is only searched for components, so that thirty visitors cost little beside the server.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import urlopen
from uuid import uuid4

from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

PAGES = ("Network", "Calibration", "Visits", "Labellers", "Report", "Runs")
MARKS = {  # what stands on a page and on no other
    "Calibration": "Full fit",
    "Visits": "Riders",
    "Labellers": "labels",
    "Report": "Make the report",
    "Runs": "Use its settings",
}
LARGEST = 200 << 20


class Visitor:
    """One session; ``parts`` are its components by id: class, label, and the id of their data."""

    def __init__(self, connection: WebSocketClientConnection) -> None:
        self._connection = connection
        self._news = asyncio.Event()
        self._answers: dict[str, asyncio.Future[Any]] = {}
        self.parts: dict[str, tuple[str, str, str]] = {}
        self.texts: list[str] = []
        self._opened = {"Network"}
        self.errors: list[str] = []
        self.closed = self.welcome = False
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def enter(cls, address: str) -> Visitor:
        """Open the page as a browser does: the page, its websocket, the document."""
        html = await asyncio.to_thread(lambda: urlopen(address, timeout=120).read().decode())
        (token,) = re.findall(r'"token":\s*"([^"]+)"', html)
        request = HTTPRequest(address.replace("http", "ws").rstrip("/") + "/ws", connect_timeout=60)
        connection = await websocket_connect(
            request, subprotocols=["bokeh", token], max_message_size=LARGEST, ping_interval=20
        )
        visitor = cls(connection)
        await visitor.wait(lambda: visitor.welcome)
        document = await visitor._ask("PULL-DOC-REQ", {})
        visitor._learn(document)
        ready = {"type": "event", "name": "document_ready", "values": {"type": "map"}}
        event = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": ready}
        await visitor._ask("PATCH-DOC", {"events": [event]})
        return visitor

    def find(self, kind: str, label: str = "") -> tuple[str, str] | None:
        """Ids of a component and of its data; the last that came, None while there is none."""
        for model, (name, words, data) in reversed(self.parts.items()):
            if name == kind and (not label or words == label):
                return model, data
        return None

    async def open_page(self, title: str) -> float:
        """Seconds until the page is there; of one that was open before, until the server has taken note."""
        known = title in self._opened
        self._opened.add(title)
        return await self.set("Tabs", "", "active", PAGES.index(title), lambda: known or self.has(MARKS[title]))

    async def move(self, label: str, value: float) -> float:
        """Seconds from letting go of a slider to a new band in a plot."""
        return await self.set("EditableFloatSlider", label, "value_throttled", value, lambda: self.has('"median"'))

    async def click(self, label: str, test: Callable[[], bool]) -> float:
        """Seconds from a click to its effect."""
        model, _ = self.find("Button", label) or ("", "")
        values = {"type": "map", "entries": [["model", {"id": model}], ["node", "click"], ["data", {"type": "map"}]]}
        event = {"type": "event", "name": "dom_event", "values": values}
        return await self._change({"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}, test)

    async def set(self, kind: str, label: str, name: str, value: Any, test: Callable[[], bool]) -> float:
        """Seconds from a change of a component to its effect."""
        found = self.find(kind, label)
        assert found, f"no {kind} {label}"
        return await self._change({"kind": "ModelChanged", "model": {"id": found[1]}, "attr": name, "new": value}, test)

    async def wait(self, test: Callable[[], bool], seconds: float = 120.0) -> None:
        """Until something that the server sends makes it true."""
        async with asyncio.timeout(seconds):
            while not test():
                assert not self.closed, "the server closed the connection"
                self._news.clear()
                await self._news.wait()

    async def leave(self) -> None:
        self._connection.close()
        await asyncio.wait([self._reading], timeout=10)

    def has(self, text: str) -> bool:
        """Whether the server has sent this since the last thing that was done."""
        return any(text in sent for sent in self.texts)

    async def _change(self, event: dict[str, Any], test: Callable[[], bool]) -> float:
        self.texts.clear()
        began = time.perf_counter()
        await self._ask("PATCH-DOC", {"events": [event]})
        await self.wait(test)
        return time.perf_counter() - began

    async def _ask(self, kind: str, content: dict[str, Any]) -> Any:
        number = uuid4().hex
        self._answers[number] = asyncio.get_running_loop().create_future()
        for part in ({"msgid": number, "msgtype": kind}, {}, content):
            await self._connection.write_message(json.dumps(part))
        return await asyncio.wait_for(self._answers[number], 120)

    async def _read(self) -> None:
        while (first := await self._connection.read_message()) is not None:
            header = json.loads(first)
            await self._connection.read_message()  # metadata
            text = await self._connection.read_message()
            for _ in range(2 * header.get("num_buffers", 0)):
                await self._connection.read_message()
            if text is None:
                break
            content = json.loads(text)
            if header["msgtype"] == "ACK":
                self.welcome = True
            elif header["msgtype"] == "ERROR":
                self.errors.append(str(text)[:500])
            elif header["msgtype"] == "PATCH-DOC":
                self.texts.append(str(text))
                self._learn(content)
            if header.get("reqid") in self._answers:
                self._answers.pop(header["reqid"]).set_result(content)
            self._news.set()
        self.closed = True
        self._news.set()

    def _learn(self, content: Any) -> None:
        for model in _objects(content):
            attributes = model.get("attributes", {})
            data = attributes.get("data")
            if "class_name" in attributes and isinstance(data, dict):
                label = str(data.get("attributes", {}).get("label", ""))
                self.parts.pop(model["id"], None)
                self.parts[model["id"]] = (attributes["class_name"], label, data.get("id", ""))


def _objects(content: Any) -> Iterator[dict[str, Any]]:
    """Every model in a message."""
    waiting = [content]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if part.get("type") == "object" and "id" in part:
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
