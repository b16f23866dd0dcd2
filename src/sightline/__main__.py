"""`python -m sightline` is `sightline`."""

from sightline.cli import main

main()
