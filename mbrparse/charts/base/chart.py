from mbrparse.charts.chart import *  # noqa: F403
