"""Record blocks: pieces of a large file that are partitioned on their own."""
