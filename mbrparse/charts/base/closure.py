from mbrparse.charts.rule_tables import *  # noqa: F403
