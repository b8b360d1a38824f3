"""The pictures of the documentation: docs/gallery.md."""
