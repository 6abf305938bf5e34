"""What benchmarks share that time two ways of doing one thing, in turn."""
