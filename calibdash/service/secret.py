"""The secret that signs cookies: given, or made once and kept for the server's eyes only."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import tempfile
from pathlib import Path

from calibdash.errors import CalibdashError

VARIABLE = "CALIBDASH_COOKIE_SECRET"
FILE = ".cookie-secret"
SHORTEST = 32


def cookie_secret(data: Path) -> str:
    """The secret of the environment, else that of the data directory, which is made where there is none."""
    if stated := os.environ.get(VARIABLE, ""):
        return _checked(stated, VARIABLE)
    file = data / FILE
    try:
        data.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(file):
            _make(file)
        with os.fdopen(os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))) as content:
            if stat.S_IMODE(os.fstat(content.fileno()).st_mode) & 0o077:
                raise CalibdashError(f"Others can read {file}, which signs the logins.", f"Run: chmod 600 {file}")
            return _checked(content.read(10_000).strip(), str(file))
    except OSError as reason:
        hint = f"Check the rights of the data directory, or set {VARIABLE}."
        raise CalibdashError(f"The secret in {file} cannot be kept: {reason.strerror}.", hint) from reason


def _make(file: Path) -> None:
    """Write a new secret under another name and put it in place whole: half a secret would keep the server down."""
    descriptor, part = tempfile.mkstemp(prefix=f"{FILE}.", suffix=".part", dir=file.parent)  # mode 600
    try:
        with os.fdopen(descriptor, "w") as content:
            content.write(secrets.token_hex(32))
            content.flush()
            os.fsync(content.fileno())
        os.replace(part, file)
    except BaseException:
        os.unlink(part)
        raise


def session_key(secret: str) -> bytes:
    """The key that signs sessions, made of the secret that signs cookies."""
    return hmac.digest(secret.encode(), b"calibdash sessions", hashlib.sha256)


def _checked(secret: str, where: str) -> str:
    if len(secret) < SHORTEST:
        raise CalibdashError(f"The secret in {where} is shorter than {SHORTEST} characters.", "Take a random one.")
    return secret
