"""Messages on engines: memory, file and Spark."""

ERRORS = {
    # Requests
    "csv-needs-quasi": "is needed for CSV files on Spark, where the types of columns are not known.",
    "decimal-not-on-spark": "must be '.' on Spark.",
    "engine-not-for-table": (
        "'{engine}' does not apply to a [{spark:?}Spark DataFrame][{spark:!}dataframe in memory]. "
        "[{spark:?}Leave it out][{spark:!}Pass the path of a file]."
    ),
    "groups-not-kept": "'{engine}' does not keep the group of each record. Use --engine=memory.",
    "table-exceeds-memory": "'memory' would take about {needed:.3g} GB, more than --memory allows. Use --engine=file.",
    "not-on-engine": (
        "[{option} ]is not available on engine '{engine}'[: it {reason}]. "
        "[Use --engine={instead}][ or {other}][{instead:!}Leave it out]."
    ),
    "several-words-on-spark": "must be a single word on Spark.",
    # Tables
    "categories-differ": "A column has different categories in different pieces of the file. Write Parquet, not Arrow.",
    # Files
    "cannot-write-on-spark": "The session cannot write this table as {format}. Write Parquet.",
    "damaged-run": "The remains of the interrupted run in '{path}' are damaged. Run without --resume.",
    "different-run": (
        "The interrupted run had another plan, input or rules. Run without --resume to start again, which removes "
        "'{path}'."
    ),
    "folder-of-another-user": "'{path}' belongs to another user. Ask them to remove it, or choose another folder.",
    "folder-taken": (
        "'{path}' is a link or a file, and this run needs a folder of that name. Remove it, or write to another folder."
    ),
    "format-differs": "'{path}' has another format than the output in the plan. Protect the file again.",
    "input-changed-later": (
        "'{path}' changed after it was protected, so the release cannot be compared with it. Protect it again."
    ),
    "not-written-in-pieces": "'{path}' has a format that cannot be written in pieces. Use .parquet, .arrow or .csv.",
    "output-in-use": (
        "Another run is writing '{path}', or its release is not saved yet. Wait for it, stop it, or save it."
    ),
    "release-gone": "The release was already saved or closed, or could not be saved. Protect the file again.",
    # Spark
    "java-gone": (
        "Spark's Java process has stopped or cannot be reached. If it ran out of memory, raise spark.driver.memory and "
        "run again."
    ),
    "no-java": (
        "Spark needs Java 17 or later, and there is none [{home:?}at JAVA_HOME][{home:!}on this machine]. Install it, "
        "or set JAVA_HOME."
    ),
    "no-spark-folder": "Spark has no folder for temporary files: {reason}. Set SPARK_LOCAL_DIRS.",
    "spark-disk-full": (
        "Spark cannot write: No space left on device. Free space where the output is written and where Spark keeps its "
        "temporary files (SPARK_LOCAL_DIRS)."
    ),
    "spark-not-started": "Spark did not start on '{master}'. Check the address, and that Java is version 17 or later.",
    "spark-worker-lost": (
        "Spark lost a worker process more often than it retries. If memory ran out, lower --block-records or give "
        "Spark more memory."
    ),
    # Verification
    "cannot-verify": "The release cannot be verified: {error} in DuckDB.",
    "column-changed": "[Column '{column}'][{column:!}A column] must be unchanged, and has changed.",
    "columns-changed": (
        "The columns are not those of the original, in their order, without identifiers[{types:?} and with the "
        "promised types]."
    ),
    "identifier-released": "The identifier '{column}' was not dropped.",
    "number-written-otherwise": "Column '{column}' has numbers that are not written as promised.",
    # Shared with other rooms: delete when merging
}

NOTES = {
    "file-engine-chosen": (
        "Engine 'file' was chosen: [{needed:?}in memory, the table would take about {needed:.3g} GB of {limit:.3g}]"
        "[{needed:!}the input is a folder]."
    ),
    "index-dropped": "The index of the table is not published. reset_index() turns it into a column.",
    "records-unordered": "The records are unordered, as always with Spark.",
}

PHRASES = {
    "another-process": "another process may have created it",
    "disk-refuses": "the disk or your permissions there do not allow it",
    "no-file-or-columns": "there is no such file, or it has no columns",
    "use-method": "Use --method={method}.",
}
