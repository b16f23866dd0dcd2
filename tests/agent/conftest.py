"""What tests of the agent share: the provider stub."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "models"))  # where `stub` is, for the tests beside that folder
