"""``calibdash user``: who may log in to the dashboard."""

from __future__ import annotations

from pathlib import Path

import click

from calibdash.cli.options import FILE, json_option
from calibdash.cli.output import print_json, say
from calibdash.errors import CalibdashError

file_option = click.option("--file", type=FILE, required=True, help="The file of users; made where there is none.")


@click.group()
def user() -> None:
    """People who may log in with `calibdash serve --basic-auth FILE`."""


@user.command()
@click.argument("name")
@file_option
@click.option(
    "--role", type=click.Choice(["member", "viewer"]), help="A viewer looks and downloads.  [default: member]"
)
@click.password_option(help="Asked for unless given.")
def add(name: str, file: Path, role: str | None, password: str) -> None:
    """Add a user, or give one a new password; the role of one who is there stays unless it is given."""
    from calibdash.service.users import User, changing, check_name, check_password, hashed

    stored = hashed(check_password(password))
    with changing(file) as users:
        before = users.get(check_name(name))
        users[name] = User(role or (before.role if before else "member"), stored)
    say(f"{name} can log in as a {users[name].role}.")


@user.command()
@click.argument("name")
@file_option
def remove(name: str, file: Path) -> None:
    """Take a user out; their networks and runs stay."""
    from calibdash.service.users import changing

    with changing(file) as users:
        if users.pop(name, None) is None:
            raise CalibdashError(f"There is no user {name[:60]!r} in {file}.", "See: calibdash user list.")
    say(f"{name} can no longer log in.")


@user.command(name="list")
@file_option
@json_option
def list_users(file: Path, as_json: bool) -> None:
    """Names and roles."""
    from calibdash.service.users import read_users

    roles = {name: found.role for name, found in read_users(file).items()}
    if as_json:
        print_json(roles)
    else:
        for name, role in roles.items():
            click.echo(f"{role:<8}{name}")
