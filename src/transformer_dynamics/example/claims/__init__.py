"""Claims: functions that return the evidence by which a claim is judged."""
