"""Where samples come from: one class a source, all with the same few methods."""
