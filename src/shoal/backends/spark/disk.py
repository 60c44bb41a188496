"""The disk of an output, as Hadoop sees it: a local one, or that of a cluster."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from shoal.errors import FileError
from shoal.messages import Message
from shoal.pipeline.manifest import Part, manifest_beside
from shoal.tables.atomic import already_exists, in_words
from shoal.tables.private_folder import abandoned, private_folder

_DATA, _PLAN, _MANIFEST, _OLD = "data", "plan", "manifest", "old"  # in the private folder; the last is replaced


class Disk:
    """Where a release is written: all of it to a private folder first, from which it is renamed.

    Hadoop copies what it cannot rename on a local disk, which might stop halfway, so Python renames there. It also
    cleans up when Java is gone.
    """

    def __init__(self, spark: SparkSession, target: str) -> None:
        self._jvm: Any = spark._jvm
        path = self._hadoop(os.path.abspath(target) if "://" not in target else target)  # noqa: PTH100 - text
        self._files = path.getFileSystem(spark._jsc.hadoopConfiguration())
        address = self._files.makeQualified(path).toUri()
        self._local = os.name == "posix" and str(address.getScheme()) == "file"
        self._target = str(address.getPath() if self._local else path)
        self._parent, self.name = str(self._hadoop(self._target).getParent()), str(path.getName())
        self._plan, self._manifest = f"{self._target}.plan.toml", f"{self._parent}/{manifest_beside(Path(self.name))}"
        self._prefix = f"_temporary-shoal-{self.name[:100]}-"

    def _hadoop(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def _exists(self, path: str) -> bool:
        return os.path.lexists(path) if self._local else bool(self._files.exists(self._hadoop(path)))

    def refuse(self, source: str, overwrite: bool) -> None:
        """Raise an error, before any work is done, if the output cannot be written."""
        if not self._exists(self._parent):
            raise FileError("no-folder", path=self._parent)
        one, two = (self._files.makeQualified(self._hadoop(path)) for path in (source, self._target))
        if one.equals(two):
            raise FileError("output-is-input", path=source, kind="path")
        if self._local:
            self._clean_up()
        taken = [path for path in (self._target, self._plan, self._manifest) if self._exists(path)]
        if taken and not overwrite:
            raise already_exists(taken[0], None if taken[0] == self._target else self._target)

    def _clean_up(self) -> None:
        """Remove what killed runs have left; what one of them was about to replace gets its name again."""
        for folder in abandoned(self._prefix, Path(self._parent)):
            if (folder / _DATA).exists():  # it has published nothing but perhaps a plan and a manifest
                for new, path in ((folder / _PLAN, self._plan), (folder / _MANIFEST, self._manifest)):
                    if new.exists() and self._exists(path) and new.samefile(path):
                        Path(path).unlink()
            for old in (folder / _OLD).iterdir() if (folder / _OLD).exists() else ():
                if not self._exists(f"{self._parent}/{old.name}"):
                    old.rename(Path(self._parent, old.name))
            shutil.rmtree(folder, ignore_errors=True)

    def parts(self, folder: str) -> list[Part]:
        """Name the files of a folder that hold records, with their hashes."""
        found = self._files.listStatus(self._hadoop(folder))
        shown = [each for each in found if each.getPath().getName()[0] not in "._"]
        return sorted((self._part(each) for each in shown), key=lambda part: part.name)

    def _part(self, status: Any) -> Part:
        stream = self._files.open(status.getPath())
        try:
            sha256 = self._jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream)
        finally:
            stream.close()
        return Part(name=status.getPath().getName(), sha256=sha256, bytes=status.getLen())

    @contextmanager
    def private(self) -> Iterator[str]:
        """Yield a folder beside the output that only its owner can read, and that is gone at the end."""
        if self._local:
            with ExitStack() as stack:
                with self._in_words():
                    folder = stack.enter_context(private_folder(self._prefix, Path(self._parent)))
                yield str(folder)
            return
        there = self._hadoop(f"{self._parent}/{self._prefix}{secrets.token_hex(4)}")
        only_owner = self._jvm.org.apache.hadoop.fs.permission.FsPermission("700")
        try:
            self._files.mkdirs(there, only_owner)
            yield str(there)
        finally:
            self._files.delete(there, True)

    def publish(self, folder: str, plan: str, manifest: str, overwrite: bool) -> None:
        """Move what was written to its final place: plan and manifest first, so that no release is without them.

        What is replaced lies in the private folder meanwhile, and gets its name back if anything goes wrong.
        """
        finals = {_PLAN: self._plan, _MANIFEST: self._manifest, _DATA: self._target}
        named = {f"{folder}/{new}": path for new, path in finals.items()}
        for path, text in zip(named, (plan, manifest), strict=False):
            self._write(path, text)
        inside = map(str, Path(folder, _DATA).iterdir()) if self._local else ()
        self._sync(*inside, *named)
        self._files.mkdirs(self._hadoop(f"{folder}/{_OLD}"))
        with ExitStack() as undo:
            for new, path in named.items():
                if overwrite and self._exists(path):
                    old = f"{folder}/{_OLD}/{Path(path).name}"
                    self._rename(path, old)
                    undo.callback(self._rename, old, path)
                self._rename(new, path, keep=True)
                undo.callback(self._take_back, path, new)
            self._sync(self._parent)
            undo.pop_all()

    def _write(self, path: str, text: str) -> None:
        stream = self._files.create(self._hadoop(path), False)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()

    def _rename(self, one: str, two: str, keep: bool = False) -> None:
        """Rename what has no other name yet; a file on a local disk may keep its old name too, by which it is known."""
        # Hadoop moves into a folder that exists instead of replacing it.
        if self._exists(two):
            raise FileError("file-not-writable", path=two, reason=Message("another-process"))
        if self._local:
            with self._in_words():
                _rename_here(Path(one), Path(two), keep)
        elif not self._files.rename(self._hadoop(one), self._hadoop(two)):
            raise FileError("file-not-writable", path=two, reason=Message("disk-refuses"))

    def _take_back(self, path: str, new: str) -> None:
        """Take a final name back."""
        if self._exists(new):
            Path(path).unlink()
        else:
            self._rename(path, new)

    def _sync(self, *paths: str) -> None:
        """Wait until files and folders are on a local disk; others see to that themselves."""
        with self._in_words():
            for path in paths if self._local else ():
                handle = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise FileError("file-not-writable", path=self._target, reason=in_words(error)) from None


def _rename_here(one: Path, two: Path, keep: bool) -> None:
    if keep and one.is_file():
        try:
            return two.hardlink_to(one)
        except FileExistsError:
            raise
        except OSError:
            pass  # a disk without links
    one.rename(two)
    return None
