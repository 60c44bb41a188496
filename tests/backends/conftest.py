"""One Spark session for all tests of a process: it takes longer to start than most of them to run."""

import pytest


@pytest.fixture(scope="session")
def spark():
    """A real session on two cores of this machine."""
    from shoal.backends.spark.session import refuse_without_java, session

    refuse_without_java()
    with session("local[2]") as started:
        started.conf.set("spark.sql.shuffle.partitions", "2")
        yield started
