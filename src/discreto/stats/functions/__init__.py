"""The statistics as functions of a table, by what they are about."""
