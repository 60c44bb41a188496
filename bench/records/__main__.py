"""The scorer, as `python -m bench.records`."""

import sys

from bench.records import main

sys.exit(main())
