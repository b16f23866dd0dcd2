"""The apps that ship. Each is one file and uses only what any other app can use."""
