"""Tools that look at the user's files: read, list, search. Files are opened through `sightline.files`, never here."""
