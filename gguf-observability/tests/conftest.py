"""Makes the file-writing helpers of this folder importable: test folders are no packages."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
