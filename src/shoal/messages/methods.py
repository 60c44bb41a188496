"""Messages on partitioning, aggregation, masking, blocking and measures."""
