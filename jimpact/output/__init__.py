"""Tables for the terminal, and HTML pages."""
