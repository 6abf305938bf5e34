"""The parts of `./dev bench verdict`: what the shipped judge makes of real noise."""
