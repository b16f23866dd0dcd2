"""Code that a conversation makes, in a database."""
