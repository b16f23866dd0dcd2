"""Reads and writes the user's files: only those in allowed folders, never secrets. Others decide what is shown of them.

Others import `folders` (which folders are allowed), `gitignore` (what listings leave out), `mentions` (files that a
conversation names), `project` (where a project is), `secrets` (which files hold keys or secrets), `textfile` (one
text file and its edits), `json_text` (changes in a JSON text), `replacement` (a whole file, written at once) and
`private_files` (our own files, which only their owner may read).
"""
