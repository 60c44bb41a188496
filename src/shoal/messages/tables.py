"""Messages on tables: dataframes, columns, their types and values, and recoding."""

ERRORS = {
    # Tables and their columns
    "column-name-type": "{table}: the name of column {position} is of type {type}. Use text as column names.",
    "column-names-repeat": "{table} has more than one column named {columns:names}. Rename one of them.",
    "column-without-name": "{table}: column {position} has no name. Name every column.",
    "input-changed": (
        "'{path}' changed while it was being read, so nothing is published. Run again when nothing writes to it, or "
        "protect a copy."
    ),
    "lazy-frame": "The table is a lazy frame without records. Call .collect() first.",
    "no-columns": "{table} has no columns.",
    "no-records": "There are no records in ['{path}'][{table}].",
    "not-tabular": (
        "[{stream:!}An][{stream:?}The Arrow stream of an] object of type {type} is not a table. Use a pandas or Polars "
        "dataframe, a PyArrow table, anything with __arrow_c_stream__, or the path of a file."
    ),
    "unused-level": "Column '{column}' lists a category or value label that no record has.",
    # Types
    "mixed-types": (
        "Column '{column}' has values of different types[: most are numbers, but not that in record {record}]. Use one "
        "type of value in a column."
    ),
    "nested-column": "Column '{column}' is nested, with several values in a record. Use another role for it.",
    "no-numbers": "Column '{column}' holds {content} and no numbers. Use another --type or role for it.",
    "not-boolean": "Column '{column}' is of type {type} and not boolean. Use --type={column}=nominal.",
    "not-moments": (
        "Column '{column}' is of type {type}, which does not hold {wanted}. Convert it, or use another --type for it."
    ),
    "numbers-as-text": (
        "Column '{column}' holds numbers that are stored as text or categories. Convert them, or add "
        "--type={column}=nominal if they are codes."
    ),
    "python-objects": "Column '{column}' holds Python objects. Convert it to one type.",
    "time-type": "Column '{column}' is of type {type}. Count the time in numbers first, or use another role for it.",
    "type-not-filtered": (
        "Column '{column}' is of type {type}, from which Arrow cannot leave {what} out. Convert it first."
    ),
    "type-not-in-arrow": "Column '{column}' is of type {type}, which Arrow does not support. Convert it first.",
    "type-not-masked": "Column '{column}' is of type {type}, which cannot be masked. Use another role for it.",
    # Values
    "empty-column": "Column '{column}' is empty: no record has a value. Leave it out.",
    "inexact-integers": (
        "Column '{column}' holds integers beyond 2^53[ (record {record})], which cannot be averaged exactly. Divide "
        "them or make them text."
    ),
    "infinite-values": (
        "Column '{column}' is infinite in [record {first}][{first:!}some records][ ({records:,} records in all)]. "
        "Replace it by a number or leave the record out."
    ),
    "missing-values": (
        "Column '{column}' has missing values in {records:record}[ (first: record {first})]. Fill them, or use "
        "--missing=group, impute or suppress."
    ),
    "not-a-date": "Column '{column}' looks like dates, but record {record} is not one. Correct it, or set --type.",
    "word-among-numbers": (
        "Column '{column}' is not a number in record {record}. Correct it, add --missing-word if the word means "
        "missing, or --type={column}=nominal if the column holds categories."
    ),
    "time-span-too-long": (
        "Column '{column}' spans more time than can be counted in its unit. Store it in a coarser one."
    ),
    "type-range-left": (
        "Published values of '{column}' leave the range of its type, {type}. Store the column in a wider type, or use "
        "--no-round."
    ),
    "word-for-missing": (
        "Column '{column}' has a word for a missing value in record {record}. Use --missing-word for each word that "
        "means missing."
    ),
    # Levels
    "levels-repeat-number": "The levels of '{column}' list the same number twice. Remove one.",
    "order-not-known": "Column '{column}' is text, whose order is not known. List its levels in order with --levels.",
    "unknown-level": (
        "Column '{column}' holds a level in [record {first}][{first:!}some records][ ({records:,} records in all)] "
        "that is not in its list. Add it with --levels."
    ),
    # Requests: codes and recoding
    "values-of-other-type": "must be of the same type as '{column}': {type}.",
    "cuts-of-other-type": "'{column}' has {content}. Use {content}[ such as {example}] as its cut points.",
    "cuts-with-time-zone": "'{column}' has times with a time zone. Convert them to local time before recoding.",
    "neither-numbers-nor-dates": (
        "'{column}' has neither numbers nor dates. Cut points need them; for categories list the old levels of each "
        "new one."
    ),
    "recoded-order-not-known": (
        "'{column}' has levels in order. List the new ones in order with --levels, or add --type={column}=nominal."
    ),
    "type-without-levels": "'{column}' is of type {type}, which has no levels. Leave it out.",
}
