"""Experiments: each folder asks one question; the folders of papers are run by `jimpact reproduce`."""
