"""Reads conversations that other programs recorded, and imports them into sessions. Nothing of a file is lost.

Each format is a file of its own: `claude_code`, `codex`, `messages` (lists in any provider's form, LangChain's too) and
`sightline_log`. Nothing here composes or prints. Others import `detection.conversations`, `importer.import_into`,
`originals.read_back` and the values of `conversation`.
"""
