"""The inspector: web pages that show what the model saw, and the way a server hands them out.

Nothing is planned or counted here: the pages show what the REST interface of `sightline.server` says.
"""
