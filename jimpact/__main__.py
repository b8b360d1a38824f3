"""`python -m jimpact` is the command line."""

import sys

from jimpact.cli.main import main

sys.exit(main())
