"""Messages on assess, check, risk, sweep and verdicts."""
