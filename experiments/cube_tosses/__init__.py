"""Which simulation predicts measured impacts of a cube? jimpact, MuJoCo MJX, the authors' parameters: README.md."""
