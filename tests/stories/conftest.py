"""Puts the helper module ``messy`` next to the stories on the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
