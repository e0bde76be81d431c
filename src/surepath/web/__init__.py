"""Studies over HTTP: the API, the live page, and a client with the methods of Study."""
