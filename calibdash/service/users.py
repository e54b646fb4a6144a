"""The file of users: a name, a role and the scrypt hash of a password each. No password is ever written down.

``{"ann": {"role": "member", "scrypt": "32768$8$3$<salt>$<hash>"}}``. An entry is an object, never text: Panel's own
login, given the same file, would take text for the password itself.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from calibdash.errors import CalibdashError
from calibdash.runs.access import MEMBER, ROLES
from calibdash.runs.lock import locked

COST, BLOCK, PARALLEL = 1 << 15, 8, 3  # 32 MB and about a quarter of a second a guess
MOST_COST, MOST_BLOCK, MOST_PARALLEL = 1 << 20, 32, 16  # of a file from elsewhere: no login may take a minute
SHORTEST_PASSWORD, LONGEST_PASSWORD, LONGEST_NAME = 10, 1024, 100
MOST_BYTES = 10_000_000
RESERVED = frozenset({"guest", "everybody"})


@dataclass(frozen=True)
class User:
    """role: one of ROLES; scrypt: parameters, salt and hash as text."""

    role: str
    scrypt: str

    @property
    def proof(self) -> str:
        """Changes with the password: a cookie that carries it ends when the password does."""
        return hashlib.sha256(f"calibdash proof {self.scrypt}".encode()).hexdigest()[:32]


def hashed(password: str) -> str:
    """Parameters, salt and hash of a password."""
    salt = secrets.token_bytes(16)
    parts = (_scrypt(password, salt, COST, BLOCK, PARALLEL), salt)
    digest, seed = (base64.b64encode(part).decode() for part in parts)
    return f"{COST}${BLOCK}${PARALLEL}${seed}${digest}"


def matches(password: str, stored: str) -> bool:
    """Whether the password is the one that was stored, compared in constant time."""
    cost, block, parallel, salt, digest = _parts(stored)
    return hmac.compare_digest(_scrypt(password, salt, cost, block, parallel), digest)


def _scrypt(password: str, salt: bytes, cost: int, block: int, parallel: int) -> bytes:
    room = 2 * 128 * cost * block * parallel + (1 << 20)
    text = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(text, salt=salt, n=cost, r=block, p=parallel, maxmem=room, dklen=32)


def _parts(stored: str) -> tuple[int, int, int, bytes, bytes]:
    try:
        numbers, (salt, digest) = stored.split("$")[:3], stored.split("$")[3:]
        cost, block, parallel = map(int, numbers)
        possible = 1 < cost <= MOST_COST and 0 < block <= MOST_BLOCK and 0 < parallel <= MOST_PARALLEL
        found = base64.b64decode(salt, validate=True), base64.b64decode(digest, validate=True)
        if not possible or cost & (cost - 1) or len(found[0]) < 8 or len(found[1]) != 32:
            raise ValueError(stored)
    except ValueError as reason:  # binascii.Error is one
        raise CalibdashError(
            "A password in the file of users cannot be checked.", "Set it again: calibdash user add."
        ) from reason
    return cost, block, parallel, *found


def check_name(name: str) -> str:
    """The name, if a user may have it."""
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise CalibdashError(f"{name[:60]!r} is no name for a user.", "Use letters, digits, spaces, dots, @ and -.")
    if name.lower() in RESERVED:
        raise CalibdashError(f"Nobody can be called {name!r}: the word has a meaning here.", "Choose another name.")
    return name


def check_password(password: str) -> str:
    """The password, if it is long enough to be one."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise CalibdashError(
            f"A password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,} characters.", "Take four words that you like."
        )
    return password


def read_users(file: Path) -> dict[str, User]:
    """All users of a file."""
    try:
        with file.open("rb") as content:
            data = content.read(MOST_BYTES + 1)
        values = json.loads(data) if len(data) <= MOST_BYTES else None
    except OSError as reason:
        hint = f"Make it with: calibdash user add NAME --file {file}"
        raise CalibdashError(f"Cannot read the users in {file}: {reason.strerror}.", hint) from reason
    except (ValueError, RecursionError) as reason:
        raise CalibdashError(f"{file} is not JSON.", "Mend it, or make it anew with: calibdash user add.") from reason
    if not isinstance(values, dict):
        raise CalibdashError(f"{file} is not a file of users.", "Make one with: calibdash user add.")
    return {check_name(name): _user(file, name, entry) for name, entry in values.items()}


def _user(file: Path, name: str, entry: object) -> User:
    if isinstance(entry, str):
        raise CalibdashError(
            f"The password of {name!r} in {file} is plain text.",
            f"Remove the line, then: calibdash user add {name!r} --file {file}",
        )
    role = entry.get("role", MEMBER) if isinstance(entry, Mapping) else None
    stored = entry.get("scrypt") if isinstance(entry, Mapping) else None
    if role not in ROLES or not isinstance(stored, str):
        raise CalibdashError(
            f"The entry of {name!r} in {file} is damaged.", f"It needs a role ({' or '.join(ROLES)}) and a scrypt hash."
        )
    _parts(stored)
    return User(str(role), stored)


@contextmanager
def changing(file: Path) -> Iterator[dict[str, User]]:
    """The users of a file, which need not exist yet, to be changed; written at once, for its owner's eyes only."""
    try:
        with locked(file.parent):
            users = read_users(file) if file.exists() else {}
            yield users
            _write(file, users)
    except OSError as reason:
        hint = "Check the path and its rights."
        raise CalibdashError(f"Cannot write the users to {file}: {reason.strerror}.", hint) from reason


def _write(file: Path, users: Mapping[str, User]) -> None:
    values = {name: {"role": user.role, "scrypt": user.scrypt} for name, user in sorted(users.items())}
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as content:
            json.dump(values, content, indent=2, ensure_ascii=False)
            content.write("\n")
            content.flush()
            os.fsync(content.fileno())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


class UserFile:
    """A file of users that is read again when it has changed: who is taken out is out at once."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stamp: tuple[int, int, int] | None = None
        self._users: dict[str, User] = {}
        self._nobody = hashed(secrets.token_hex(16))  # checked for names that do not exist, which takes as long
        self.users()

    def users(self) -> Mapping[str, User]:
        """Everybody in the file now; a file that cannot be read lets nobody in."""
        try:
            state = self._file.stat()
        except OSError:
            self._users, self._stamp = {}, None
            return read_users(self._file)  # says why
        stamp = (state.st_mtime_ns, state.st_ino, state.st_size)
        if stamp != self._stamp:
            self._users, self._stamp = {}, None
            self._users = read_users(self._file)
            self._stamp = stamp
        return self._users

    def find(self, name: str) -> User | None:
        """One user; None where there is none, or the file cannot be read."""
        try:
            return self.users().get(name)
        except CalibdashError:
            return None

    def admits(self, name: str, password: str) -> bool:
        """Whether this is the user's password; it takes as long when there is no such user."""
        user = self.find(name)
        right = matches(password[:LONGEST_PASSWORD], self._nobody if user is None else user.scrypt)
        return right and user is not None
