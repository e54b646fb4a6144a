"""Pages that stand on their own: figures and tables in one HTML file."""
