"""What a session has chosen; knows nothing of how it is shown."""
