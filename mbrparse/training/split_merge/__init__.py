"""Split-merge training: symbols are split into states, which EM fits to observed trees."""
