"""Row groups of a Parquet file as arrow batches: small reads, texts as they are coded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

WHOLE = 1 << 26  # bytes of a row group that are read at once


def parquet_pieces(
    path: str,
    names: list[str],
    groups: Sequence[int],
    coded: Collection[str],
    rows: int,
) -> Iterator[Any]:
    """Batches of at most so many rows of some row groups, one group after the other.

    Texts of ``coded`` columns come as places in a list of different texts, which is how
    they are stored; in a group with texts that are no UTF-8 they come as they are.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    facts = pq.read_metadata(path)
    fields = {field.name: field.type for field in facts.schema.to_arrow_schema()}
    always = [name for name in names if pa.types.is_dictionary(fields[name])]
    texts = (pa.string(), pa.large_string())
    more = [name for name in names if name in coded and fields[name] in texts]
    # A group at a time, large ones in small reads: memory does not grow with the file.
    size = max((facts.row_group(group).total_byte_size for group in groups), default=0)
    buffer = 0 if size <= WHOLE else 1 << 20

    def opened(dictionary: list[str]) -> Any:
        return pq.ParquetFile(
            path,
            metadata=facts,
            pre_buffer=False,
            buffer_size=buffer,
            read_dictionary=dictionary,
        )

    with opened([*always, *more]) as file:
        for group in groups:
            own = {"row_groups": [group], "columns": names, "use_threads": False}
            done = 0
            try:
                for batch in file.iter_batches(rows, **own):
                    yield batch
                    done += batch.num_rows
                continue
            except pa.ArrowException:  # pyarrow codes no texts that are no UTF-8
                if not more:
                    raise
            with opened(always) as plain:
                for batch in plain.iter_batches(rows, **own):
                    if done < batch.num_rows:
                        yield batch.slice(done)
                    done = max(done - batch.num_rows, 0)
