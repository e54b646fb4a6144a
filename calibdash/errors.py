"""The one root of every error a user can meet."""

from __future__ import annotations


class CalibdashError(Exception):
    """Something the user can mend: what is wrong, and a hint that says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message
