"""A cluster of two worker processes for all tests of this folder that run here."""

from collections.abc import Iterator

import pytest
from distributed import LocalCluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    """Two processes of one thread each, which a nanny begins anew where they die."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as made:
        yield made


@pytest.fixture
def address(cluster: LocalCluster) -> str:
    """What ``--scheduler`` takes."""
    place: str = cluster.scheduler_address
    return place
