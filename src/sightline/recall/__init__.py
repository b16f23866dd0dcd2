"""Finds what is not shown and brings it back. What is found is placed in the payload by `compose`."""
