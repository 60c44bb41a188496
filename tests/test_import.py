"""Importing the package is instant; what is heavy is loaded when it is needed."""

import subprocess
import sys

import pytest

import shoal


def test_import_loads_nothing_heavy():
    code = "import shoal, sys; print({'numpy', 'pyarrow', 'duckdb', 'pydantic'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_every_public_name_is_there():
    for name in shoal.__all__:
        assert getattr(shoal, name).__name__ == name
    assert set(shoal.__all__) <= set(dir(shoal))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        _ = shoal.nothing
