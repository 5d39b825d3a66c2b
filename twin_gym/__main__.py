"""`python -m twin_gym` is `twin-gym`."""

from __future__ import annotations

import sys

from twin_gym.cli import main

sys.exit(main())
