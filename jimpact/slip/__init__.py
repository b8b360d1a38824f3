"""Integration of the slip of an impact: flow, step size, one step, events, and the scan of all steps."""
