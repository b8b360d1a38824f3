"""The slip of an impact, followed to its end: flow, length of a step, one step, events, and the scan of all steps."""
