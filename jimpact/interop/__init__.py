"""Other frameworks: each module here needs a package of its own, and none is loaded by `import jimpact`."""
