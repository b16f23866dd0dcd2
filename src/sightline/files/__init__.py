"""Opens the user's files: only those in allowed folders, never secrets. What is shown of them is decided elsewhere."""
