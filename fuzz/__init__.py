"""Coverage-guided fuzzing: whatever is given, a release that keeps its promise or a sentence comes out, soon.

`python -m fuzz csv --seconds 60` fuzzes one target, `python -m fuzz` all of them in turn. `fuzz.targets` lists them.
"""
