"""A Spark that Shoal starts on this machine gives nothing to other users of it, who can connect to its ports."""

import socket
import struct
from pathlib import Path

import pytest

pyspark = pytest.importorskip("pyspark", reason="Spark needs the extra 'spark'")
session = pytest.importorskip("shoal.backends.spark.session", reason="Spark needs the extra 'spark'")

pytestmark = pytest.mark.spark
RPC, RPC_RESPONSE = 3, 4  # kinds of messages of Spark's network protocol


def _spelt(text: str) -> bytes:
    return struct.pack(">I", len(text)) + text.encode()


def _answer(port: int, block: str) -> int | None:
    """Ask a port of Spark for a block as executors do; the kind of its answer, None if it hangs up."""
    body = b"\0" + _spelt("app") + _spelt("executor") + struct.pack(">I", 1) + _spelt(block)
    message = struct.pack(">QI", 1, len(body)) + body
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(struct.pack(">QB", 9 + len(message), RPC) + message)
        head = connection.recv(9, socket.MSG_WAITALL)
    return head[8] if len(head) == 9 else None


def test_who_does_not_know_the_secret_gets_no_block(spark):
    records = spark.sparkContext.parallelize(["planted"], 1).persist()
    try:
        assert records.count() == 1
        blocks = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().keys().head()
        for port in (blocks.rpartition(":")[2], spark.conf.get("spark.driver.port")):
            assert _answer(int(port), f"rdd_{records.id()}_0") != RPC_RESPONSE
    finally:
        records.unpersist()


def test_what_is_put_on_disk_is_encrypted(spark):
    records = spark.sparkContext.parallelize(["planted"], 1).persist(pyspark.StorageLevel.DISK_ONLY)
    try:
        assert records.count() == 1
        (block,) = (path for folder in session._folders for path in folder.rglob(f"rdd_{records.id()}_0"))
        assert b"planted" not in block.read_bytes()
    finally:
        records.unpersist()


def test_the_secret_is_on_no_command_line_and_in_no_option(spark):
    hadoop = spark.sparkContext._jvm.org.apache.hadoop
    known = hadoop.security.UserGroupInformation.getCurrentUser().getCredentials()
    secret = known.getSecretKey(hadoop.io.Text("sparkCookie")).decode()  # where Spark keeps its own
    assert len(secret) >= 32
    assert secret not in str(spark.sparkContext.getConf().getAll())
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert secret.encode() not in each.read_bytes()
        except OSError:  # it has ended
            continue


def test_what_java_itself_writes_goes_with_the_spills(spark):
    folder = Path(spark.sparkContext._jvm.java.lang.System.getProperty("java.io.tmpdir"))
    assert folder == session._folders[0]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert spark.sparkContext._jvm.org.apache.spark.util.Utils.createTempDir().getParent() == str(folder)


def test_a_java_that_runs_already_has_folders_of_its_own(monkeypatch):
    monkeypatch.setattr(session, "_folders", [])
    assert session._options("local")["spark.driver.defaultJavaOptions"] == "-XX:TieredStopAtLevel=1"


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://host", "local-cluster[2,1,1024]"])
def test_clusters_have_their_own_secrets(master, monkeypatch, tmp_path):
    monkeypatch.setattr(session, "_folders", [tmp_path])
    assert not {*session._PRIVATE} & {*session._options(master)}
    for here in ("local", "local[*]", "local[2]", "local[2,3]"):
        assert session._PRIVATE.items() <= session._options(here).items()
