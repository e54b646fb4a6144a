"""The dashboard's pages: thin views over state and pure plot functions."""
