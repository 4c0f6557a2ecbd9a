"""Pages for people, made on the server: my memory, why, operations, audit."""
