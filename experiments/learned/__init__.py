"""What does a network learn about a material from rebounds alone? Run by `python -m experiments.learned`."""
