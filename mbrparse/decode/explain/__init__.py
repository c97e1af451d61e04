"""One sentence explained: its chart, its readings, and what each objective returns and why."""
