"""The server around the pages: who may come in, what it listens to, and what it tells browsers."""
