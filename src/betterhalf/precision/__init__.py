"""What a precision is called and what it computes in; plain text, no framework."""
