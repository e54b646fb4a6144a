"""Adding data: a place to drop files, what is in them, what is wrong with them, and the way to a network."""

from __future__ import annotations

from html import escape
from typing import Any
from zoneinfo import available_timezones

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param

from calibdash.data.problems import has_errors
from calibdash.data.readers.options import HOUR_STAMPS
from calibdash.errors import CalibdashError
from calibdash.pages.dropper import StreamDropper
from calibdash.pages.layout import titled, words
from calibdash.pages.problems import NOTICED, problem_view
from calibdash.pages.tables import table
from calibdash.state.upload import kinds
from calibdash.state.upload.check import Upload, read_position
from calibdash.state.upload.folder import QUANTITIES
from calibdash.state.uploads import Uploads

FILL: dict[str, Any] = {"sizing_mode": "stretch_width"}
WHAT = (
    "Colocations, raw measurements or labels: exports of AirQo, OpenAQ, PurpleAir, sensor.community, ThingSpeak, "
    "Met One BAM and Zooniverse, or tables of your own. CSV, Parquet, or a zip of a network folder; several at once, "
    "up to 300 MB together. Nothing is changed before you say so."
)


def file_frame(files: list[Upload]) -> pd.DataFrame:
    """One row a file: what it is, how large it is, and how it stands with it."""
    return pd.DataFrame(
        {
            "File": [file.name for file in files],
            "What it is": [kinds.TITLES[file.kind] for file in files],
            "Rows": ["" if file.found is None or not file.found.rows else f"{file.found.rows:,}" for file in files],
            "Size": [_size(file.size) for file in files],
            "State": [_standing(file) for file in files],
        },
        dtype="str",
    )


def _size(size: int) -> str:
    unit, by = ("MB", 1e6) if size >= 100_000 else ("kB", 1e3)
    return f"{size / by:,.1f} {unit}" if size >= 1000 else f"{size} B"


def _standing(file: Upload) -> str:
    if file.found is None:
        return "being read …"
    if file.kind == kinds.LEAVE_OUT:
        return "left out"
    errors = sum(problem.severity == "error" for problem in file.found.problems)
    warnings = sum(problem.severity == "warning" for problem in file.found.problems)
    told = errors or warnings
    word = ("error" if errors else "warning") + ("s" if told > 1 else "")
    return f"{told} {word}" if told else "good"


class UploadView(pn.viewable.Viewer):
    """The way from files to a network, one step below the other as each becomes possible."""

    uploads: Any = param.ClassSelector(class_=Uploads, allow_None=False)
    picked: Any = param.Parameter(doc="Place of the picked file in the list; None is none.")

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._table = table(
            file_frame([]),
            selectable=1,
            widths={"Rows": 100, "Size": 100, "State": 130},
            text_align={"Rows": "right", "Size": "right"},
        )
        self._table.param.watch(self._pick, "selection")
        self.uploads.param.watch(self._show_files, "files")
        self._show_files()

    def _pick(self, event: param.parameterized.Event) -> None:
        self.picked = event.new[0] if event.new else None

    def _show_files(self, *_: object) -> None:
        files = self.uploads.files
        self._table.value = file_frame(files)
        if self.picked is not None and self.picked >= len(files):
            self._table.selection = []
        self.param.trigger("picked")

    @param.depends("picked")
    def _editor(self) -> pn.viewable.Viewable:
        files = self.uploads.files
        if self.picked is None or self.picked >= len(files):
            unclear = [file for file in files if file.kind == kinds.UNKNOWN]
            hint = "Pick a file to say what it is, or to leave it out." if unclear or len(files) > 1 else ""
            return words(hint, variant="body2", **FILL) if hint else pn.Spacer(height=0)
        return file_editor(self.uploads, files[self.picked])

    @param.depends("uploads.problems")
    def _problems(self) -> pn.viewable.Viewable:
        problems = self.uploads.problems
        if not problems:
            return pn.Spacer(height=0)
        return titled("What must be mended" if has_errors(problems) else NOTICED, problem_view(problems))

    @param.depends("uploads.asks_zone", "uploads.asks_pollutant")
    def _questions(self) -> pn.viewable.Viewable:
        asked: list[pn.viewable.Viewable] = []
        if self.uploads.asks_zone:
            zone = pmui.AutocompleteInput(
                label="Time zone of times without one",
                options=sorted(available_timezones()),
                value=self.uploads.zone or None,
                placeholder="such as Africa/Kampala",
                case_sensitive=False,
                min_characters=1,
                search_strategy="includes",
                width=330,
            )
            zone.param.watch(lambda event: setattr(self.uploads, "zone", event.new or ""), "value")
            asked.append(zone)
        if self.uploads.asks_pollutant:
            options = {title: name for name, title in QUANTITIES.items()}
            pollutant = pmui.Select(label="Pollutant", options=options, value=self.uploads.pollutant, width=140)
            pollutant.link(self.uploads, value="pollutant")
            asked.append(pollutant)
        return pn.FlexBox(*asked, gap="8px", **FILL) if asked else pn.Spacer(height=0)

    @param.depends("uploads.searching")
    def _search(self) -> pn.viewable.Viewable:
        if not self.uploads.searching:
            return pn.Spacer(height=0)
        fields = {
            "distance_m": "At most apart [m]",
            "within_minutes": "Within [min]",
            "average_minutes": "Means over [min]",
            "low": "Readings from",
            "high": "Readings to",
        }
        inputs = [
            pmui.FloatInput.from_param(self.uploads.param[name], label=label, width=150)
            for name, label in fields.items()
        ]
        told = "Two sensors meet when they are this near in space and time; their readings are then compared."
        return pmui.Accordion(
            (
                "How encounters are found",
                pn.Column(words(told, variant="body2"), pn.FlexBox(*inputs, gap="8px"), **FILL),
            ),
            title_variant="body1",
            margin=(12, 0),
            **FILL,
        )

    def _finish(self) -> pn.viewable.Viewable:
        uploads = self.uploads
        title = pmui.TextInput.from_param(uploads.param.title, label="Name of the network", width=300)
        add = pmui.Button(label="Add network", icon="add", variant="contained")
        add.label = uploads.param.searching.rx.where("Find encounters and add", "Add network")
        add.disabled = uploads.param.ready.rx.not_() | (uploads.param.busy.rx() != "")
        add.on_click(lambda _: uploads.add())
        again = pmui.Button(label="Start over", variant="text", disabled=uploads.param.adding)
        again.on_click(lambda _: uploads.reset())
        return pn.FlexBox(title, add, again, align_items="center", gap="8px", margin=(12, 0), **FILL)

    @param.depends("uploads.busy", "uploads.adding")
    def _progress(self) -> pn.viewable.Viewable:
        uploads = self.uploads
        if not uploads.busy:
            return pn.Spacer(height=0)
        share = pmui.LinearProgress(value=0, variant="determinate", **FILL)
        share.value = uploads.param.progress.rx.pipe(lambda done: round(100 * done))
        row: list[Any] = [words(f"{escape(uploads.busy)} …", variant="body2", margin=10)]
        if uploads.adding:
            cancel = pmui.Button(label="Cancel", variant="outlined", size="small")
            cancel.on_click(lambda _: uploads.cancel())
            row.append(cancel)
        return pn.Column(pn.Row(*row, **FILL), share, **FILL)

    @param.depends("uploads.receiving")
    def _receiving(self) -> pn.viewable.Viewable:
        under_way = self.uploads.receiving
        if not under_way:
            return pn.Spacer(height=0)
        told = ", ".join(f"{name} ({share:.0%})" for name, share in list(under_way.items())[:3])
        return words(f"Receiving {escape(told)} …", variant="body2", **FILL)

    @param.depends("uploads.message")
    def _message(self) -> pn.viewable.Viewable:
        if not self.uploads.message:
            return pn.Spacer(height=0)
        return pmui.Alert(object=escape(self.uploads.message), severity="warning", margin=(8, 0), **FILL)

    def __panel__(self) -> pn.viewable.Viewable:
        drop = StreamDropper(taking=self.uploads.take, margin=(8, 10), **FILL)
        some = self.uploads.param.files.rx.len() > 0
        files = titled("Files", pn.Column(self._table, self._editor, self._questions, **FILL))
        return pn.Column(
            words(WHAT, variant="body2"),
            drop,
            self._receiving,
            self._progress,
            self._message,
            pn.Column(files, visible=some, **FILL),
            self._problems,
            pn.Column(self._search, self._finish(), visible=some, **FILL),
            **FILL,
        )


def file_editor(uploads: Uploads, file: Upload) -> pn.viewable.Viewable:
    """What a user may say about one file: what it is and, where it holds one sensor, who and where that is."""
    if file.kind in (kinds.ARCHIVE, kinds.ABOUT):
        return words(f"{escape(file.name)}: {kinds.TITLES[file.kind]}.", variant="body2", **FILL)
    options: dict[str, str | None] = {kinds.TITLES[name]: name for name in kinds.CHOICES}
    value = file.kind if file.kind in kinds.CHOICES else None
    options = options if value else {"Not recognised: choose": None, **options}
    what = pmui.Select(label=f"What {file.name[:40]} is", options=options, value=value, width=300)
    what.param.watch(lambda event: uploads.amend(file, kind=event.new) if event.new else None, "value")
    fields: list[Any] = [what]
    if file.kind in kinds.ONE_SENSOR:
        fields += _one_sensor(uploads, file)
    return pn.FlexBox(*fields, gap="8px", align_items="center", margin=(8, 0), **FILL)


def _one_sensor(uploads: Uploads, file: Upload) -> list[Any]:
    sensor = pmui.TextInput(
        label="Its sensor's id", value=file.sensor, placeholder=kinds.stem(file.name)[:40], width=190
    )
    stands = "" if file.position is None else f"{file.position[0]:g}, {file.position[1]:g}"
    place = pmui.TextInput(label="Latitude, longitude", value=stands, placeholder="0.3136, 32.5811", width=190)
    stamps = {f"{word}s of hours": word for word in HOUR_STAMPS}
    stamp = pmui.Select(label="Its stamps are", options=stamps, value=file.hour_stamp, width=160)
    use = pmui.Button(label="Use", variant="outlined")

    def say(_: object) -> None:
        try:
            position = read_position(place.value)
        except CalibdashError as reason:
            uploads.message = f"{reason.message} {reason.hint}"
            return
        uploads.amend(file, sensor=sensor.value.strip(), position=position, hour_stamp=stamp.value)

    use.on_click(say)
    return [sensor, place, *([stamp] if file.kind == "bam" else []), use]
