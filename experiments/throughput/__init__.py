"""What does an impact cost, and what does it cost elsewhere? `jimpact bench` runs it: README.md."""
