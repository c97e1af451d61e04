from mbrparse.charts.spans import *  # noqa: F403
