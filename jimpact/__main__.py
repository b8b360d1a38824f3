"""`python -m jimpact` is the command line."""

import sys

from jimpact.cli import main

sys.exit(main())
