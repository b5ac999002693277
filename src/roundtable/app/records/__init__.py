"""Sessions that are over or elsewhere: exported, compared, recounted, branched, remembered, forgotten."""
