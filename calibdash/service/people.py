"""From the name of a login to a person: who is a member, who may look, who is nobody here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from calibdash.runs.access import MEMBER, VIEWER, Person
from calibdash.service.users import UserFile

GUEST = "guest"  # as Panel calls who need not log in
NOBODY = ""


@dataclass(frozen=True)
class People:
    """login: whether there is one. role_of: the role of a name now. read_only: nobody changes anything."""

    login: bool = False
    role_of: Callable[[str], str] = lambda _: MEMBER
    read_only: bool = False

    def person(self, user: str | None) -> Person:
        """The person of a session; ``user`` is what Panel makes of the cookies."""
        if not self.login:
            return Person(None, lambda: VIEWER if self.read_only else MEMBER)
        if user is None:
            return Person("", lambda: NOBODY)
        if user == GUEST:
            return Person("", lambda: VIEWER)
        return Person(user, lambda: self._role(user))

    def _role(self, user: str) -> str:
        role = self.role_of(user)
        return VIEWER if role == MEMBER and self.read_only else role


def of_file(users: UserFile) -> Callable[[str], str]:
    """Roles as the file of users has them."""

    def role_of(name: str) -> str:
        user = users.find(name)
        return NOBODY if user is None else user.role

    return role_of


def of_patterns(members: Sequence[str], viewers: Sequence[str]) -> Callable[[str], str]:
    """Roles by patterns such as ``*@example.org``. Without members, everybody else who can log in is one."""

    def role_of(name: str) -> str:
        if any(fnmatchcase(name.casefold(), pattern.casefold()) for pattern in viewers):
            return VIEWER
        if not members or any(fnmatchcase(name.casefold(), pattern.casefold()) for pattern in members):
            return MEMBER
        return NOBODY

    return role_of
