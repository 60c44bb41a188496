"""Messages on files: reading, writing and their formats."""

ERRORS = {
    # Names and places
    "bad-file-name": "The name of the file is too long, or has characters that are not allowed. Choose another.",
    "file-exists": (
        "'{path}'[, which goes with '{beside}',][ and {more:more file}] already [{more:!}exists][{more:?}exist]. "
        "Choose another name, or add --overwrite."
    ),
    "file-not-readable": "[The {what} ]'{path}' cannot be read: {reason}.",
    "file-not-writable": "'{path}' cannot be written: {reason}.",
    "file-too-large": "'{path}' cannot be the {what}: it has more than {most:{unit}}.",
    "folder-named": (
        "'{path}' is a folder. Name a file[{reading:?} in it, or use --engine=file for a folder of Parquet files]."
    ),
    "folder-not-erased": "Folder '{path}' could not be erased. Erase it by hand.",
    "folder-not-writable": "Folder '{path}' cannot be written to. Choose another.",
    "no-file": "There is no [{what}][{what:!}file] '{path}'[: {hint}].",
    "no-folder": "Folder '{path}' does not exist. Create it first.",
    "pipe-or-device": "'{path}' is a pipe or a device. Save its content to a file first.",
    # Formats
    "damaged-file": (
        "'{path}' is not a complete {format} file: it is damaged, truncated, or in another format[ (line {line})]."
    ),
    "only-for-format": "applies only to {format} files. Leave it out.",
    "read-only-format": "'{path}': {extension} files can be read but not written. Use {instead}.",
    "unknown-extension": (
        "'{path}' has no extension that [{spark:?}Spark][{spark:!}Shoal] knows. Use one of {extensions:words}."
    ),
    # Contents of files
    "empty-file": "'{path}' is empty[{sheets:?}: no sheet has data].",
    "several-tables": "'{path}' has more than one table. Write each to its own file.",
    # Limits of formats
    "labels-not-for-format": (
        "The labels or declared missing values of the table do not fit into {format} files. Write Parquet."
    ),
    "name-not-for-format": (
        "The name of column[ {position}][ '{column}'] is not valid in {format} files, which take {rule}"
        "[, at most {most:,} bytes]. Rename it, or write Parquet."
    ),
    "names-differ-in-case": (
        "Columns {columns:names} differ only in case, which [{format} files ignore][{format:!}Spark ignores]. Rename "
        "them."
    ),
    "type-not-for-format": (
        "Column '{column}' is of type {type}, which {format} files cannot hold. Convert or drop it[, or write "
        "{instead}]."
    ),
    "value-not-for-format": (
        "Column '{column}' has a {value} in record {record} that {format} files cannot hold ({limit}). Change it, or "
        "write Parquet."
    ),
    # Metadata of columns and tables
    "bad-metadata": (
        "The metadata '{key}' of [column '{column}'][{column:!}the table] cannot be read. Remove it, or correct it."
    ),
    # CSV
    "bad-missing-word": (
        "has a word that [{empty:?}is empty][{blanks:?}has spaces around it][{unprintable:?}cannot be printed]. "
        "[{empty:?}Leave it out: empty cells always count as missing][{blanks:?}Remove them: cells are compared "
        "without surrounding spaces][{unprintable:?}Remove characters such as tabs and line breaks]."
    ),
    "cells-not-found": "[{header:?}The header of ]'{path}' cannot be split into cells. Set --delimiter and --quote.",
    "first-row-like-record": (
        "'{path}': the first row looks like a record (column {position}). It must name the columns; a name that is a "
        "number, such as a year, needs a letter, as in y2019."
    ),
    "name-like-values": (
        "Column '{column}' has a name like its values, so a CSV file would seem to have no header. Use a name with a "
        "letter, such as y2019, or write Parquet."
    ),
    "not-text-file": (
        "'{path}' is not a text file[{nul:?}: it has NUL bytes]. [{nul:?}If it is UTF-16, add --encoding=utf-16]"
        "[{nul:!}Perhaps it is a compressed file or a spreadsheet with the wrong extension]."
    ),
    "number-of-cells": (
        "'{path}': record {record} has {cells:cell}, and the header has {columns:,}. Put quotes around cells that hold "
        "the delimiter, or set --delimiter and --quote."
    ),
    "quote-is-delimiter": "must differ from the delimiter.",
    "read-as-missing": (
        "Column '{column}' has a value in record {record} that --missing-word reads as missing. Leave out that word, "
        "or write Parquet."
    ),
    "stray-quote": (
        "'{path}': [record {record}][{record:!}the header] [{closes:?}has text after a closing quote][{closes:!}opens "
        "a quote that is never closed]. Double the quotes inside a cell, or set --delimiter and --quote."
    ),
    "unknown-encoding": "is not a text encoding. Use for example --encoding=utf-8 or cp1252.",
    "wrong-encoding": (
        "'{path}' is not encoded in {encoding}[ (at byte {byte})]. Set --encoding, for example --encoding=cp1252."
    ),
    # Excel
    "error-in-cell": (
        "[{position:?}'{path}': the name of column {position} is][{record:?}Column '{column}' has] an error"
        "[ in record {record}]. Correct it in Excel."
    ),
    "file-with-password": "'{path}' is protected with a password. Save it without one.",
    "first-row-empty": "'{path}': the first row is empty. It must name the columns.",
    "formula-without-value": (
        "Column '{column}' has a formula in record {record} whose value was not saved. Open the file in Excel and save "
        "it again."
    ),
    "last-record-empty": (
        "The last record has no value at all, which an Excel sheet cannot show. Leave it out, or write Parquet."
    ),
    "merged-cells": "'{path}' has merged cells in sheet '{sheet}'. Unmerge them and fill every cell.",
    "mostly-empty-sheet": (
        "'{path}' has {cells:cell} with a value in {rows:row} and {columns:column}. Delete the empty rows and any "
        "values far below the table."
    ),
    "no-such-sheet": "names '{sheet}', which is no sheet with data of '{path}'. Choose from {sheets:names}.",
    "old-excel-format": "'{path}' is an Excel file in the old format (.xls). Save it as .xlsx.",
    "several-sheets": (
        "'{path}' has more than one sheet with data ({sheets:names}, hidden ones included). Choose one with --sheet."
    ),
    "too-large-for-excel": (
        "A table of {records:record} and {columns:column} is too large for Excel, which takes {most_records:,} "
        "records, {most_columns:,} columns and 2 GiB. Write CSV or Parquet."
    ),
    "unpacks-to-too-much": "'{path}' unpacks to more than 4 GiB. Save the table as CSV or Parquet.",
    # XML
    "xml-attributes": (
        "'{path}': [record {record}][{record:!}the root] has attributes on '{column}'. Make variables of them, or "
        "write the table as CSV."
    ),
    "doctype": (
        "'{file}' has a DOCTYPE[{entities:!}, which may declare entities][ that declares {entities:names}][ and "
        "{more:,} more]. [{excel:?}Save it again in Excel][{excel:!}Remove it]."
    ),
    "xml-element-in-variable": (
        "'{path}': record {record} has an element inside of the variable '{column}'. Keep only text in variables, or "
        "write the table as CSV."
    ),
    "xml-namespace": (
        "'{path}': [record {record}][{record:!}the root] has a namespace. Remove xmlns, or write the table as CSV."
    ),
    "xml-record-name": (
        "'{path}': record {record} is named '{name}', and others '{other}'. Use one name for all records, or write the "
        "table as CSV."
    ),
    "xml-text-outside-variables": (
        "'{path}': [record {record}][{record:!}the root] has text outside of its variables. Move the text into a "
        "variable, or write the table as CSV."
    ),
    "xml-variable-twice": (
        "'{path}': record {record} has the variable '{column}' twice. Keep one, or write the table as CSV."
    ),
    # Files that are read in pieces
    "arrow-stream": "'{path}' is not in Arrow's file format. Write it with pyarrow.ipc.new_file, or as Parquet.",
    "files-differ": (
        "[{other:!}The files in ]'{path}'[ and '{other}'] have different columns or types. All files of a folder must "
        "have the same."
    ),
    "no-parquet-file": "Folder '{path}' has no Parquet file.",
    "not-in-pieces": (
        "'{path}' has a format that cannot be read in pieces. Convert it to Parquet or CSV, or protect it in memory "
        "with --engine=memory."
    ),
    "other-file-in-folder": (
        "Folder '{path}' has a file that is not Parquet, '{name}'. Move the files to protect into their own folder."
    ),
    # Differential privacy
    "decimal-with-epsilon": "must be set with --epsilon: records must not decide it. Use --decimal.",
    "epsilon-with-index": (
        "The index of the table cannot be protected with --epsilon. Drop it with reset_index(drop=True)."
    ),
    "epsilon-with-xml": "does not apply to XML, whose records name the columns. Convert it to CSV.",
    "unreadable-with-epsilon": (
        "'{path}' cannot be read as a table. With --epsilon the reason is not shown, because it may disclose a record: "
        "run shoal roles {path} to see it."
    ),
}

NOTES = {
    "codes-not-missing-in-format": "Codes that {format} files do not mark as missing: {columns:words}.",
    "labels-lost": "Labels that {format} files cannot hold were left out or shortened: {columns:words}.",
    "letters-of-missing-lost": "Missing values lost their letters, which {format} files do not have: {columns:words}.",
}

PHRASES = {
    # Reasons
    "disk-error": "the disk reported an error[{full:?}, or is full]",
    "name-not-valid": "its name is not valid",
    # Formats
    "limit-bytes": "at most {most:,} bytes, [{portable:?}of the portable characters][{portable:!}no NUL character]",
    "limit-number": "at most {most:{unit}}",
    "limit-exact": "finite numbers that a float64 holds exactly, integers to 2^53",
    "limit-finite": "finite float64s",
    "limit-integers": "integers from {low} to {high}",
    "limit-milliseconds": "whole milliseconds",
    "limit-no-control": "no control characters",
    "limit-no-nul": "no NUL character",
    "limit-not-empty": "an empty one would be read as missing",
    "limit-years": "the years {first} to {last}[, as {type}]",
    # Names of columns in a format
    "names-in-sas": "plain letters, digits and _, no digit first",
    "names-in-spss": "letters, digits and _ . $ # @, a letter first, no word of SPSS's own",
    "names-in-spss-portable": "capital letters, digits and _ . $ # @, a letter first",
    "names-in-stata": "letters, digits and _, no digit first, no word of Stata's own",
    "names-in-xml": "letters, digits, '_', '-' and '.', a letter or '_' first",
}
