"""The bill of materials: valid CycloneDX, all that is installed with its version, no address and no path."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from constraints import closure  # noqa: E402 - scripts, not packages
from sbom import needed_alone  # noqa: E402

VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
problem = JsonStrictValidator(SchemaVersion.from_version(sys.argv[2])).validate_str(open(sys.argv[1]).read())
sys.exit(None if problem is None else str(problem))
"""


def component(name, **more):
    return {"bom-ref": name, "name": name, "version": "1", **more}


def test_what_development_needs_and_every_address_is_left_out():
    address = {"externalReferences": [{"type": "distribution", "url": "https://index.example"}]}
    found = {
        "$schema": "https://schema.example",
        "metadata": {"component": component("root"), "tools": {"components": [component("tool", **address)]}},
        "components": [component("Ruamel_Yaml", **address), component("pytest", properties=[{"value": "/home/ann"}])],
        "dependencies": [{"ref": "root", "dependsOn": ["Ruamel_Yaml", "pytest"]}, {"ref": "pytest"}],
    }
    kept = needed_alone(found, {"ruamel-yaml"})
    assert [each["name"] for each in kept["components"]] == ["Ruamel_Yaml"]
    assert kept["dependencies"] == [{"ref": "root", "dependsOn": ["Ruamel_Yaml"]}]
    assert "example" not in json.dumps(kept)


@pytest.mark.slow
def test_the_bill_is_valid_complete_and_the_same_each_time(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "audit"], check=True, timeout=600)
    tools = tmp_path / "audit" / "bin"
    installed = subprocess.run(
        [tools / "pip", "install", "--quiet", "cyclonedx-bom"], capture_output=True, timeout=1200
    )
    if installed.returncode != 0:
        pytest.skip("pip finds no index that has cyclonedx-bom")
    bills = [tmp_path / "one.json", tmp_path / "two.json"]
    for path in bills:
        subprocess.run([sys.executable, ROOT / "tools" / "sbom.py", tools / "cyclonedx-py", path], check=True)
    text = bills[0].read_text()
    bill = json.loads(text)
    subprocess.run([tools / "python", "-c", VALIDATE, bills[0], bill["specVersion"]], check=True)
    assert bills[1].read_text() == text
    versions = {re.sub("[-_.]+", "-", each["name"].lower()): each["version"] for each in bill["components"]}
    assert versions == closure(development=False)
    assert {each["purl"] for each in bill["components"]} == {
        f"pkg:pypi/{name}@{version}" for name, version in versions.items()
    }
    for part in ("http:", "https:", "file:", "/home/", "/root/", "/tmp/", str(ROOT), sys.prefix):
        assert part not in text
