"""Options of ``calibdash serve`` that say who may come in, and from where."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from calibdash.cli.options import FILE
from calibdash.errors import CalibdashError

if TYPE_CHECKING:
    from calibdash.service.server import Service

_OPTIONS = (
    click.option("--basic-auth", type=FILE, metavar="FILE", help="Log in with a name of this file (`calibdash user`)."),
    click.option("--oauth-provider", default="", metavar="NAME", help="Log in elsewhere: github, google, generic, …"),
    click.option("--oauth-redirect-uri", default="", metavar="URL", help="Where the provider sends people back to."),
    click.option("--oauth-extra-params", default="", metavar="JSON", help="More for the provider, as Panel has it."),
    click.option("--oauth-jwt-user", default="", metavar="KEY", help="What in the provider's answer is the name."),
    click.option("--oauth-optional", is_flag=True, help="Guests may look without a login."),
    click.option("--member", "members", multiple=True, metavar="PATTERN", help="OAuth: who may work (repeatable)."),
    click.option("--viewer", "viewers", multiple=True, metavar="PATTERN", help="OAuth: who may look (repeatable)."),
    click.option("--no-login", is_flag=True, help="Really let everybody in who can reach the server."),
    click.option("--read-only", is_flag=True, help="Nobody adds data or fits; everybody looks and downloads."),
    click.option(
        "--allow-origin", "origins", multiple=True, metavar="HOST[:PORT]", help="Name it is visited at (repeatable)."
    ),
    click.option("--prefix", default="", metavar="PATH", help="Path before every address, as a proxy has it."),
    click.option("--behind-proxy", is_flag=True, help="Believe X-Forwarded-For and -Proto of a proxy."),
    click.option("--ssl-cert", "certificate", type=FILE, metavar="FILE", help="Certificate for https."),
    click.option("--ssl-key", "key", type=FILE, metavar="FILE", help="Its key."),
)


def access_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def service_of(
    oauth_redirect_uri: str, oauth_extra_params: str, oauth_jwt_user: str, oauth_optional: bool, **options: Any
) -> Service:
    """The service that the options describe."""
    from calibdash.service.server import Service

    try:
        extra = json.loads(oauth_extra_params or "{}")
    except ValueError as reason:
        raise CalibdashError("--oauth-extra-params is not JSON.", 'Write for example {"TOKEN_URL": "…"}.') from reason
    if not isinstance(extra, dict):
        raise CalibdashError("--oauth-extra-params is not an object.", 'Write for example {"TOKEN_URL": "…"}.')
    oauth = {
        "oauth_redirect_uri": oauth_redirect_uri,
        "oauth_extra_params": extra,
        "oauth_jwt_user": oauth_jwt_user,
        "oauth_optional": oauth_optional,
    }
    return Service(oauth={key: value for key, value in oauth.items() if value}, **options)
