"""Does a simulation rebound as requested? MuJoCo MJX with jimpact's impacts, beside MJX's own contacts: README.md."""
