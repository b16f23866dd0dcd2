"""Code that a conversation makes: where it is kept, what is in it, and how it is referred to."""
