"""Secret bits: fresh in every process, never twice, repeatable only with a key."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

from discreto.core.noise import entropy as module
from discreto.core.noise.entropy import Entropy, more_bits
from discreto.core.noise.sampler import Sampler

# The most frequent accident here: two of 100,000 words are equal once in 3.7e9 runs.
pytestmark = pytest.mark.real_noise(2.8e-10)

FORK = """
import os, sys
from discreto.core.noise.entropy import Entropy
stream = Entropy({key})
{before}
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.write(write, stream.bytes(32))
    os._exit(0)
mine = stream.bytes(32)
os.waitpid(child, 0)
print(mine.hex(), os.read(read, 32).hex())
"""


def _fork(key: str, before: str) -> list[str]:
    code = FORK.format(key=key, before=before)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize("before", ["", "stream.bytes(100)"])
def test_a_forked_child_draws_other_bits(before):
    parent, child = _fork("", before)
    assert parent != child


def test_a_forked_child_of_a_seeded_stream_repeats_it():
    # Tests want that; and it shows that the test above can fail.
    parent, child = _fork("b'key'", "stream.bytes(100)")
    assert parent == child


def test_two_streams_differ_and_a_key_repeats():
    assert Entropy().bytes(64) != Entropy().bytes(64)
    assert Entropy(b"a").bytes(64) == Entropy(b"a").bytes(64)
    assert Entropy(b"a").bytes(64) != Entropy(b"b").bytes(64)
    assert Entropy(b"a").seeded
    assert not Entropy().seeded


def test_pieces_follow_each_other():
    whole, parts = Entropy(b"a").bytes(1000), Entropy(b"a")
    assert b"".join(parts.bytes(n) for n in (1, 9, 90, 400, 500)) == whole
    assert Entropy(b"a").bytes(0) == b""


def test_a_stream_is_keyed_again(monkeypatch):
    monkeypatch.setattr(module, "REKEY_BYTES", 64)
    keys = []
    system = module.os.urandom
    monkeypatch.setattr(module.os, "urandom", lambda n: keys.append(n) or system(n))
    Entropy().bytes(64 * 5)
    assert keys == [32] * 5
    # A seeded stream goes on to a new key in the same places however it is read.
    whole, parts = Entropy(b"a").bytes(300), Entropy(b"a")
    assert b"".join(parts.bytes(n) for n in (60, 10, 130, 100)) == whole
    monkeypatch.undo()
    one_key = Entropy(b"a").bytes(300)
    assert one_key[:64] == whole[:64]
    assert one_key[64:] != whole[64:]


def test_rekeying_is_at_a_gibibyte():
    assert module.REKEY_BYTES == 1 << 30


def test_words_never_repeat():
    stream = Entropy()
    words = np.concatenate([stream.words(n) for n in (1, 10, 1000, 99_000)])
    assert np.unique(words).size == words.size


def test_threads_never_share_bits():
    stream, seen, lock = Entropy(), [], threading.Lock()

    def work():
        mine = [stream.bytes(16) for _ in range(2000)]
        with lock:
            seen.extend(mine)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == len(seen) == 16_000


def test_extra_bits_are_a_stream_of_their_own_for_each_draw():
    spots = {
        more_bits(tag, index, block)
        for tag in (b"a" * 32, b"b" * 32)
        for index in range(50)
        for block in range(1, 10)
    }
    assert len(spots) == 2 * 50 * 9


def test_draws_are_never_used_twice():
    # A key: of 2,000 real draws two are equal once in 200,000 runs, even at this scale.
    noise = Sampler(Entropy(b"twice"))
    scale = 10**11
    draws = np.concatenate([noise.laplace(scale, 1000) for _ in range(2)])
    assert np.unique(draws).size == draws.size


def test_an_order_holds_everything_once():
    order = Entropy().order(1000)
    assert sorted(order.tolist()) == list(range(1000))
