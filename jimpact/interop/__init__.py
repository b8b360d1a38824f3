"""Other frameworks: each module needs the package of its framework, and `import jimpact` loads none of them."""
