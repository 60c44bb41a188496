"""One Spark session for all tests of a process: it takes longer to start than most of them to run."""

import os

import pytest


@pytest.fixture(scope="session")
def spark():
    """A real session on two cores of this machine, in a JVM that does not compile for hours of work to come."""
    from shoal.backends.spark.session import refuse_without_java, session

    refuse_without_java()
    with pytest.MonkeyPatch.context() as patch:
        options = [os.environ.get("JDK_JAVA_OPTIONS", ""), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        patch.setenv("JDK_JAVA_OPTIONS", " ".join(options).strip())
        with session("local[2]") as started:
            patch.undo()
            started.conf.set("spark.sql.shuffle.partitions", "2")
            yield started
