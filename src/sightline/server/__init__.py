"""The proxy between an agent and its model, and the REST interface to what it keeps.

Nothing here decides what a model sees. Others import `app.create_app` and `config.Config`.
"""
