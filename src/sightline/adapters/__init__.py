"""Adapters: Sightline inside the programs of others, one file for each framework.

An adapter hands the framework's messages to a `History` and writes payloads in the framework's form. It decides nothing
about what the model sees. What two adapters would need belongs to `session`. Import the file of your framework:
`sightline.adapters.langchain`, `sightline.adapters.openai_agents`, `sightline.adapters.pydantic_ai` and others.
`sl.wrap` is in `clients`. Claude Code calls commands: `claude_hooks` answers them, `claude_settings` sets it up.
"""
