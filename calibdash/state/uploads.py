"""Files that a session drops in, from the first look at them to a network on offer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import param

from calibdash.data.encounters import LONGEST_DISTANCE_M, EncounterOptions
from calibdash.data.parse import check_zone
from calibdash.data.problems import DataError, Problem, Severity, error, has_errors
from calibdash.data.readers.options import POLLUTANTS
from calibdash.errors import CalibdashError
from calibdash.runs.access import Person
from calibdash.state.folders import read_folder
from calibdash.state.shelf import Shelf
from calibdash.state.upload import kinds
from calibdash.state.upload.check import Common, Found, Upload, check
from calibdash.state.upload.folder import assemble, gaps, needs_search, tidy, write_about
from calibdash.state.upload.incoming import Incoming
from calibdash.state.upload.work import Schedule, Work

ZONE_PROBLEMS = ("time-zone", "zone-missing")
UNNAMED = "New network"


class Uploads(param.Parameterized):
    """The dropped files of one session and what was found in them.

    Every change is followed by a fresh look: files that have not been read are read, one after another, then the
    folder they would make is checked as a whole. Nothing is put among the networks before :meth:`add`.
    """

    files: Any = param.List(item_type=Upload, doc="What was dropped.")
    problems: Any = param.ClassSelector(class_=tuple, default=(), doc="All that is wrong or was assumed, errors first.")
    receiving: Any = param.Dict({}, doc="The share that has arrived, by name, of files that are under way.")
    busy = param.String(doc="What is being done; '' is nothing.")
    progress = param.Number(0.0, bounds=(0, 1), doc="The share of that which is done.")
    adding = param.Boolean(False, doc="Whether that is the making of the network, which can be cancelled.")
    ready = param.Boolean(False, doc="Whether the files can become a network as they are.")
    searching = param.Boolean(False, doc="Whether encounters have to be found for that.")
    asks_zone = param.Boolean(False, doc="Whether the time zone matters.")
    asks_pollutant = param.Boolean(False, doc="Whether the pollutant matters.")
    title = param.String(doc="The network's name.")
    zone = param.String(doc="Zone of times that have none.")
    pollutant: Any = param.Selector(default=POLLUTANTS[0], objects=list(POLLUTANTS), doc="Which pollutant to read.")
    distance_m = param.Number(40.0, bounds=(0.1, LONGEST_DISTANCE_M), doc="Farthest apart of two sensors that meet.")
    within_minutes = param.Number(30.0, doc="Longest time apart of their readings.")
    average_minutes = param.Number(10.0, doc="Period that encounters are averaged over.")
    low = param.Number(10.0, doc="Smallest reading to believe.")
    high = param.Number(300.0, doc="Largest reading to believe.")
    message = param.String(doc="What became of the last thing the user asked for.")
    told = param.String(doc="What was left out of it.")
    added: Any = param.ClassSelector(class_=Path, doc="The network that was made last.")

    def __init__(self, shelf: Shelf, schedule: Schedule, **params: Any) -> None:
        super().__init__(**params)
        self._shelf, self._schedule = shelf, schedule
        self._incoming: Incoming | None = None
        self._work: Work | None = None
        self._draft: Path | None = None  # the folder as it would be, where nothing has to be searched
        self._whole: tuple[Problem, ...] | None = None  # what is wrong with the files together; None: not checked yet
        self._notes: list[Problem] = []
        self._refused: dict[str, Problem] = {}
        self._suggested = ""

    def take(self, name: str, piece: int, pieces: int, data: bytes) -> None:
        """A piece of a file from the browser; the last one has the file looked at."""
        try:
            self._incoming = self._incoming or Incoming(self._shelf.scratch())
            path = self._incoming.take(name, piece, pieces, data)
        except CalibdashError as reason:
            self._refused[name] = error("upload", reason.message, reason.hint)
            self.receiving = self._incoming.under_way() if self._incoming else {}
            self._show(ready=self.ready)
            return
        self.receiving = self._incoming.under_way()
        if path is not None:
            self._refused.pop(name, None)
            self._set([*(file for file in self.files if file.origin != name), _upload(path, name)])

    @property
    def person(self) -> Person:
        """Who drops them."""
        return self._shelf.person

    def amend(self, upload: Upload, **changes: Any) -> None:
        """Have a file read as something else."""
        if upload in self.files and any(getattr(upload, name) != value for name, value in changes.items()):
            changed = replace(upload, found=None, **changes)
            self._set([changed if file == upload else file for file in self.files])

    def cancel(self) -> None:
        """Stop making the network; the files stay."""
        if self._work is not None and self.adding:
            self._work.stop()

    def reset(self) -> None:
        """Forget all files."""
        self._leave()
        self._forget()
        self.param.update(busy="", adding=False)

    def _forget(self) -> None:
        if self._incoming is not None:
            self._incoming.clear()
        self._draft, self._whole, self._notes, self._refused, self._suggested = None, None, [], {}, ""
        self.param.update(
            files=[], receiving={}, problems=(), ready=False, searching=False, message="", title="", zone="",
            asks_zone=False, asks_pollutant=False,
        )  # fmt: skip

    def close(self) -> None:
        """The session has ended: stop, and leave nothing behind."""
        incoming, self._incoming = self._incoming, None
        if incoming is None:
            return
        if self._work is not None:  # it may still be writing
            self._work.leave(then=lambda: shutil.rmtree(incoming.scratch, ignore_errors=True))
            self._work = None
        else:
            shutil.rmtree(incoming.scratch, ignore_errors=True)

    def add(self) -> None:
        """Make the network and put it on offer."""
        if not self.ready or self.busy or self._incoming is None:
            return
        try:
            options = self._options()
        except CalibdashError as reason:
            self.message = f"{reason.message} {reason.hint}"
            return
        files, common, title = list(self.files), self._common(), tidy(self.title)
        draft, folder = self._draft, self._incoming.fresh()

        def make(report: Callable[[float], None]) -> tuple[Path, str]:
            problems: tuple[Problem, ...] = ()
            if draft is None:
                problems = assemble(files, common, title, folder, options, report)
                if has_errors(problems):
                    raise DataError(problems)
            else:
                write_about(draft, title, common, files)
            report(1.0)  # the last moment to stop
            target = self._shelf.publish(draft or folder, title)
            read_folder(target)  # read once here, so that opening it does not hold up the page
            left_out = [problem for problem in problems if problem.severity is Severity.WARNING and not problem.file]
            return target, " ".join(f"{problem.message} ({problem.count:,} rows.)" for problem in left_out)

        def end(result: tuple[Path, str] | CalibdashError) -> None:
            self._work = None
            if not isinstance(result, CalibdashError):
                self._shelf.changed()
                self._forget()
                self.param.update(added=result[0], told=result[1])
            else:
                shutil.rmtree(folder, ignore_errors=True)
                wrong = result.problems if isinstance(result, DataError) else ()
                self._whole = wrong or self._whole
                self.message = (
                    "Nothing was written: see what is wrong below." if wrong else f"{result.message} {result.hint}"
                )
                self._show(ready=not wrong or self.searching)
            self.param.update(busy="", adding=False)

        self.param.update(message="", adding=True)
        self._do("Finding encounters" if self.searching else "Adding the network", make, end)

    @param.depends("zone", watch=True)
    def _zone_changed(self) -> None:
        try:
            if self.zone:
                check_zone(self.zone)
        except CalibdashError as reason:
            self.message = f"{reason.message} {reason.hint}"
            return
        self._read_again(lambda upload: upload.kind not in (kinds.ARCHIVE, kinds.ABOUT))

    @param.depends("pollutant", watch=True)
    def _pollutant_changed(self) -> None:
        self._read_again(lambda upload: kinds.has_pollutants(upload.kind))

    def _read_again(self, test: Callable[[Upload], bool]) -> None:
        if self.files:
            self._set([replace(upload, found=None) if test(upload) else upload for upload in self.files])

    def _set(self, files: list[Upload]) -> None:
        """Other files: what was found in them together no longer holds."""
        if self.adding:
            self._leave()
            self.adding = False
        if self._draft is not None:
            shutil.rmtree(self._draft, ignore_errors=True)
        self._draft = self._whole = None
        self.param.update(files=files, ready=False, message="")
        self._suggest()
        self._show()
        self._next()

    def _next(self) -> None:
        """Do what has to be done next, if nothing is being done."""
        if self._work is not None or self._incoming is None:
            return
        common = self._common()
        unread = next(iter(sorted(_unread(self.files), key=lambda file: file.kind != kinds.ABOUT)), None)
        if unread is not None:
            self._do(
                f"Reading {unread.name}", lambda report: check(unread, common, report), lambda r: self._read(unread, r)
            )
        elif (
            self._whole is None
            and self.files
            and all(file.usable for file in self.files)
            and not has_errors(gaps(self.files))
        ):
            self._check_whole(common)
        else:
            self.busy = ""

    def _read(self, upload: Upload, result: Found | CalibdashError) -> None:
        """A file has been read; those of an archive take its place."""
        self._work = None
        if isinstance(result, CalibdashError):
            result = Found(problems=(error("refused", result.message, result.hint, file=upload.name),))
        files = list(self.files)
        if upload in files:  # else it has been changed or replaced meanwhile
            if result.inside:
                self._notes += result.problems
                inside = [_upload(path, f"{upload.origin}/{path.name}") for path in result.inside]
                files[files.index(upload) : files.index(upload) + 1] = inside
            else:
                files[files.index(upload)] = replace(upload, found=result)
            if result.about:  # it may state the zone that others lack
                files = [replace(file, found=None) if _lacks_zone(file) else file for file in files]
            self.files = files
            self._suggest()
        self._show()
        self._next()

    def _check_whole(self, common: Common) -> None:
        files = list(self.files)
        if needs_search(files) or not [file for file in files if file.kind != kinds.LEAVE_OUT]:
            self._whole = ()
            self._show(ready=needs_search(files))
            self.busy = ""
            return
        folder = self._incoming.fresh() if self._incoming else Path()
        title, options = tidy(self.title), EncounterOptions()

        def end(result: tuple[Problem, ...] | CalibdashError) -> None:
            self._work = None
            if isinstance(result, DataError):
                result = result.problems
            if isinstance(result, CalibdashError):
                result = (error("refused", result.message, result.hint),)
            if files == self.files:
                self._whole, self._draft = result, folder
                self._show(ready=not has_errors(result))
            else:
                shutil.rmtree(folder, ignore_errors=True)
            self._next()

        self._do(
            "Checking the files together", lambda report: assemble(files, common, title, folder, options, report), end
        )

    def _do(self, what: str, call: Callable[[Callable[[float], None]], Any], end: Callable[[Any], None]) -> None:
        work = Work(call, lambda done: setattr(self, "progress", min(max(done, 0.0), 1.0)), end, self._schedule)
        self._work = work
        self.param.update(busy=what, progress=0.0)
        work.start()

    def _leave(self) -> None:
        if self._work is not None:
            self._work.leave()
            self._work = None

    def _common(self) -> Common:
        about = {key: text for file in self.files if file.found for key, text in file.found.about.items()}
        return Common(self.zone or about.get("timezone") or None, self.pollutant)

    def _options(self) -> EncounterOptions:
        return EncounterOptions(
            self.distance_m, self.within_minutes / 60, self.average_minutes / 60, self.low, self.high
        )

    def _suggest(self) -> None:
        """Propose a name, as long as the user has not written one."""
        names = [file.found.about["name"] for file in self.files if file.found and "name" in file.found.about]
        above = {PurePosixPath(file.origin.strip("/")).parts[0] for file in self.files if "/" in file.origin.strip("/")}
        proposed = tidy(names[0] if names else kinds.stem(above.pop()) if len(above) == 1 else UNNAMED)
        if self.title in ("", self._suggested) and self.files:
            self._suggested = self.title = proposed

    def _show(self, ready: bool = False) -> None:
        """Bring what the page shows up to date."""
        found = [problem for file in self.files if file.found for problem in file.found.problems]
        found += [*self._refused.values(), *self._notes, *(self._whole or ())]
        found += [] if self.receiving else gaps(self.files)  # what is missing may be under way
        once = {(problem.code, problem.file, problem.column, problem.message): problem for problem in found}
        order = list(Severity)
        self.param.update(
            problems=tuple(sorted(once.values(), key=lambda problem: order.index(problem.severity))),
            ready=ready,
            searching=needs_search(self.files),
            asks_zone=bool(self.zone) or any(map(_lacks_zone, self.files)),
            asks_pollutant=any(kinds.has_pollutants(file.kind) for file in self.files),
        )


def _upload(path: Path, origin: str) -> Upload:
    return Upload(path, kinds.recognise(path), path.stat().st_size, origin=origin)


def _unread(files: list[Upload]) -> list[Upload]:
    return [file for file in files if file.found is None]


def _lacks_zone(upload: Upload) -> bool:
    return upload.found is not None and any(problem.code in ZONE_PROBLEMS for problem in upload.found.problems)
