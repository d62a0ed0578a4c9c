"""Puts the helper module ``public_surface`` next to the tests on the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
