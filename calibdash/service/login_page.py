"""The login page: one form, no script, nothing fetched; light or dark as the browser is."""

from __future__ import annotations

from html import escape

STYLE = """
:root { color-scheme: light dark; --page: #f5f7fa; --card: #fff; --text: #1c2733; --soft: #546575; --line: #b8c4d0;
  --main: #0072b5; --on-main: #fff; --wrong: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --page: #121212; --card: #1e1e1e; --text: #eceff1; --soft: #b0bec5; --line: #5a6670; --main: #64b5f6;
    --on-main: #0b1a26; --wrong: #ff8a80; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 24px; background: var(--page);
  color: var(--text); font: 16px/1.5 Roboto, "Segoe UI", Helvetica, Arial, sans-serif; }
form { width: min(100%, 380px); background: var(--card); border-radius: 12px; padding: 32px;
  box-shadow: 0 1px 3px rgb(0 0 0 / 20%), 0 6px 24px rgb(0 0 0 / 8%); }
h1 { margin: 0; font-size: 1.5rem; font-weight: 500; }
p { margin: 4px 0 20px; color: var(--soft); }
p.wrong { color: var(--wrong); margin: 0 0 16px; }
label { display: block; margin-bottom: 16px; font-size: .875rem; color: var(--soft); }
input { display: block; width: 100%; margin-top: 4px; padding: 12px; font: inherit; font-size: 1rem; color: var(--text);
  background: transparent; border: 1px solid var(--line); border-radius: 6px; }
input:focus, button:focus-visible { outline: 2px solid var(--main); outline-offset: 1px; }
button { width: 100%; padding: 12px; font: inherit; font-weight: 500; color: var(--on-main); background: var(--main);
  border: 0; border-radius: 6px; cursor: pointer; }
button:hover { filter: brightness(1.08); }
"""


def login_page(*, action: str, token: str, wanted: str, problem: str = "", name: str = "") -> str:
    """The form as HTML; every value is escaped here."""
    wrong = f'<p class="wrong" role="alert">{escape(problem)}</p>' if problem else ""
    first, second = ("", "autofocus") if name else ("autofocus", "")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>calibdash: log in</title>
<style>{STYLE}</style>
</head>
<body>
<form method="post" action="{escape(action)}">
<h1>calibdash</h1>
<p>Log in to see your networks and runs.</p>
{wrong}
<input type="hidden" name="_xsrf" value="{escape(token)}">
<input type="hidden" name="next" value="{escape(wanted)}">
<label>Name
<input name="username" value="{escape(name)}" autocomplete="username" autocapitalize="none" required {first}></label>
<label>Password
<input name="password" type="password" autocomplete="current-password" maxlength="1024" required {second}></label>
<button type="submit">Log in</button>
</form>
</body>
</html>
"""
