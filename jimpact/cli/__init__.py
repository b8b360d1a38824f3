"""The command line: `main` has the parser; each larger command has its own file."""
