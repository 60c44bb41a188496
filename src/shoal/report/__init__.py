"""What people look at: the report of a release, the risk-utility map of a sweep, and both in a notebook.

A report is one HTML file that needs nothing else: no script, no font, no picture from elsewhere. It is made of what
may be published: of original values it knows nothing but counts of many records.
"""

from shoal.report.pages import (
    external_report,
    external_sweep_report,
    release_html,
    release_report,
    sweep_html,
    sweep_report,
    write_report,
)

__all__ = [
    "external_report",
    "external_sweep_report",
    "release_html",
    "release_report",
    "sweep_html",
    "sweep_report",
    "write_report",
]
