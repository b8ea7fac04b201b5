"""Files in and out, compressed or not: a `Source` carries the name and line numbers that errors name; what is written
appears whole or not at all."""

from __future__ import annotations

import bz2
import errno
import gzip
import importlib
import io
import lzma
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from anycsp.deadline import NEVER, Deadline
from anycsp.errors import AnyCSPError, FormatError, ProblemError
from anycsp.formats.budget import BYTES, CLAIM, EXPANSION, SMALL, Budget, Limit


@dataclass(frozen=True)
class Compression:
    name: str
    magic: bytes
    """What its files begin with."""
    open: Callable[..., Any]
    compress: Callable[[bytes], bytes]


def _zstd() -> Any:
    """Python's own module, from 3.14 on, or the package."""
    for name in ("compression.zstd", "zstandard"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise AnyCSPError("a .zst file needs Python 3.14 or the extra zst: pip install 'anycsp[zst]'")


class ZstdStream:
    """A zstd file being read, frame by frame; damage is an OSError, a missing end an EOFError, as with the others."""

    PIECE = 1 << 14
    """Compressed bytes taken at once: small, so that what expands out of proportion is seen in time."""

    def __init__(self, file: Any, mode: str = "rb") -> None:
        self._module = _zstd()
        self._file = open(file, mode) if isinstance(file, (str, Path)) else file  # noqa: SIM115  # closed in __exit__
        self._frame: Any = None

    def read(self, size: int) -> bytes:
        while piece := self._file.read(self.PIECE):
            if data := self._decompressed(piece):
                return data
        if self._frame is not None:
            raise EOFError("the compressed file ends before its end")
        return b""

    def _decompressed(self, piece: bytes) -> bytes:
        parts = []
        while piece:
            if self._frame is None:
                made = self._module.ZstdDecompressor()
                self._frame = made.decompressobj() if hasattr(made, "decompressobj") else made
            try:
                parts.append(self._frame.decompress(piece))
            except self._module.ZstdError as error:
                raise OSError(str(error)) from None
            piece = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame = None
        return b"".join(parts)

    def __enter__(self) -> ZstdStream:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


COMPRESSIONS = {
    ".gz": Compression("gzip", b"\x1f\x8b", gzip.open, gzip.compress),
    ".xz": Compression("xz", b"\xfd7zXZ\x00", lzma.open, lzma.compress),
    ".lzma": Compression("lzma", b"\x5d\x00\x00", lzma.open, partial(lzma.compress, format=lzma.FORMAT_ALONE)),
    ".bz2": Compression("bzip2", b"BZh", bz2.open, bz2.compress),
    ".zst": Compression("zstd", b"\x28\xb5\x2f\xfd", ZstdStream, lambda data: bytes(_zstd().compress(data))),
}
"""By the ending of a file's name."""
BQM_MAGIC = b"DIMODBQM"
"""What the one binary format that is read begins with."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""No text format has them; vertical tabs and form feeds are white space to some readers and not to others."""
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_CONTROLS = bytes([*range(9), 0x0B, 0x0C, *range(0x0E, 0x20)])
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, OSError, ValueError)


SECONDS_PER_CLAIM = 5e-7
"""What a variable or constraint takes at least, from a file to an answer."""
LINES_PER_LOOK = 4096
"""Lines between two looks at the clock: a few thousandths of a second."""


@dataclass(frozen=True)
class Source:
    """What a reader gets. Text formats are ASCII but for comments: other bytes become characters that are neither white
    space nor digits."""

    path: str
    data: bytes
    budget: Budget = field(default_factory=Budget, compare=False)
    deadline: Deadline = field(default=NEVER, compare=False)

    def error(self, reason: str, line: int | None = None) -> FormatError:
        return FormatError(self.path, reason, line)

    def late(self) -> FormatError:
        """A file takes longer to read than there is time for: without all of it nothing can be said."""
        return self.error("takes longer to read than the time limit allows; give it more with --time-limit")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Every line that is not blank, with its number."""
        for number, line in enumerate(ascii_text(self.data).split("\n"), start=1):
            if number % LINES_PER_LOOK == 0 and self.deadline.passed:
                raise self.late()
            stripped = line.strip()
            if stripped:
                yield number, stripped

    def integer(self, token: str, what: str, line: int | None = None) -> int:
        digits = token.removeprefix("-")
        if digits.isascii() and digits.isdigit() and len(digits) <= 18:
            return int(token)
        raise self.error(f"{what} is not an integer: {shown(token)}", line)

    def check_claim(self, claimed: int, what: str, line: int) -> None:
        """Refuse a header that claims millions of things in a file too short to hold them."""
        if claimed < 0:
            raise self.error(f"a negative number of {what}: {claimed}", line)
        try:
            replace(CLAIM, what=CLAIM.what.replace("things", what)).check(claimed, free=len(self.data))
        except ProblemError as error:
            raise self.error(f"claims {error}", line) from None
        if claimed * SECONDS_PER_CLAIM > self.deadline.left:
            raise self.late()

    def check(self, limit: Limit, amount: int, line: int | None = None) -> None:
        """Refuse what goes beyond a limit of the table."""
        try:
            limit.check(amount)
        except ProblemError as error:
            raise self.error(str(error), line) from None

    def check_domain(self, size: int, name: str, line: int | None = None) -> None:
        """Refuse a domain, before it is made, that is too large by itself or with those before it."""
        try:
            self.budget.domain(size)
        except ProblemError as error:
            raise self.error(f"variable {shown(name)}: {error}", line) from None


def ascii_text(data: bytes) -> str:
    return data.decode("ascii", errors="surrogateescape")


def shown(token: str, limit: int = 40) -> str:
    """A token of a file as error messages show it: quoted, escaped, not too long."""
    return ascii(token if len(token) <= limit else token[:limit] + "...")


def load(path: str | os.PathLike[str], deadline: Deadline = NEVER) -> Source:
    """Read a file whole, `-` for standard input, decompressing what is compressed. Its reader keeps to the
    deadline."""
    name = os.fspath(path)
    try:
        data = _read(sys.stdin.buffer if name == "-" else name, name)
    except IsADirectoryError:
        raise FormatError(name, "is a directory") from None
    except OSError as error:
        raise FormatError(name, (error.strerror or str(error)).lower()) from None
    return replace(text_source(data, name), deadline=deadline)


def load_head(path: Path, size: int) -> Source:
    """The first bytes of a file, decompressed, to tell what it is without reading it whole."""
    name = str(path)
    try:
        with open(path, "rb") as plain:
            head = plain.read(size)
        if (compression := _compression_of(head)) is not None:
            with compression.open(path) as stream:
                head = stream.read(size)
    except _DAMAGE as error:
        raise FormatError(name, f"cannot be read ({error})") from None
    return text_source(head, name)


def text_source(data: bytes, name: str) -> Source:
    """A source from bytes at hand; refuses what cannot be text."""
    if data.startswith(BQM_MAGIC):
        return Source(name, data)
    data = data.removeprefix(b"\xef\xbb\xbf")  # the UTF-8 byte order mark some editors write
    if len(data.translate(None, _CONTROLS)) < len(data):  # five times as fast as the search
        match = _CONTROL.search(data)
        assert match is not None
        line = data.count(b"\n", 0, match.start()) + 1
        raise FormatError(name, f"binary data, not a problem file (byte 0x{data[match.start()]:02x})", line)
    if data.count(b"\r") != data.count(b"\r\n"):  # the line ends of old: a comment at the top would be all of the file
        data = _LONE_RETURN.sub(b"\n", data)
    return Source(name, data)


def _read(file: str | IO[bytes], name: str) -> bytes:
    with open(file, "rb") if isinstance(file, str) else file as stream:
        raw = _capped(stream, name)
    compression = _compression_of(raw) or COMPRESSIONS.get(Path(name).suffix.lower())
    return raw if compression is None else _decompress(raw, compression, name)


def _compression_of(raw: bytes) -> Compression | None:
    return next((known for known in COMPRESSIONS.values() if raw.startswith(known.magic)), None)


def _capped(stream: IO[bytes] | Any, name: str, compressed: IO[bytes] | None = None) -> bytes:
    """All of a stream, refused as soon as it is too long, or out of proportion to what was read of `compressed`."""
    parts: list[bytes] = []
    size = 0
    try:
        while chunk := stream.read(1 << 20):
            parts.append(chunk)
            size += len(chunk)
            BYTES.check(size)
            if compressed is not None and size > SMALL:
                EXPANSION.check(size // compressed.tell())
    except ProblemError as error:
        raise FormatError(name, str(error)) from None
    return b"".join(parts)


def _decompress(raw: bytes, compression: Compression, name: str) -> bytes:
    compressed = io.BytesIO(raw)
    try:
        with compression.open(compressed, "rb") as stream:
            return _capped(stream, name, compressed)
    except FormatError:
        raise
    except _DAMAGE as error:
        raise FormatError(name, f"truncated or damaged {compression.name} file ({error})") from None


def check_writable(path: Path) -> None:
    """Refuse, before any work is done, a file that could not be written when it is done."""
    target = _target(path)
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a directory")
        if not _replaceable(target):
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise _not_written(path, error) from None


def _target(path: Path) -> Path:
    """What is written: where a link leads, so that the link stays one."""
    return Path(os.path.realpath(path))


def _replaceable(target: Path) -> bool:
    """Whether a new file may take its place: a device or a pipe is written to, never replaced."""
    return not target.exists() or target.is_file()


def _not_written(path: Path, error: OSError) -> FormatError:
    return FormatError(path, f"cannot be written: {(error.strerror or str(error)).lower()}")


def write_whole(path: Path, content: str | bytes) -> None:
    """Write next to the file, then rename: a reader, or a crash, never meets half of it. A file that is replaced keeps
    its permissions. Compresses by the name's ending."""
    # Bytes that are no text were read as lone surrogates: escaped as JSON escapes them, which reads them back.
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    compression = COMPRESSIONS.get(path.suffix.lower())
    target = _target(path)
    try:
        if _replaceable(target):
            _replace(target, data if compression is None else compression.compress(data))
        else:
            target.write_bytes(data)
    except OSError as error:
        raise _not_written(path, error) from None


def _replace(target: Path, data: bytes) -> None:
    temporary = target.with_name(f".anycsp-{os.urandom(8).hex()}")  # short, since a name may be as long as one can be
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except BaseException:  # Ctrl-C too
        temporary.unlink(missing_ok=True)
        raise
