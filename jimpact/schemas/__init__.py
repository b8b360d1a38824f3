"""Schemas of TOML files."""
