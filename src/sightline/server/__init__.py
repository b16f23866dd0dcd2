"""The proxy between an agent and its model, and the REST interface to what it keeps. It decides nothing that is shown.

Others import `app.create_app` and the values of `config`.
"""
