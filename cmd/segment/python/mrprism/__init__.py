"""Segment medical images that several experts have marked.

    import mrprism

    with mrprism.open("fundus") as model:
        result = model.segment("photo.jpg")     # or an array (H, W, 3) of uint8
    result.masks["disc"]                        # (H, W) of bool
    result.probabilities["cup"]                 # (H, W) of float32, 0 to 1
    result.raters["cup"]                        # (M, H, W): what each expert, or level, would mark
    result.data["measurements"]                 # the JSON of program segment

A notebook shows a result as outlines on the photograph. Masks are those of program segment, to the
bit: it computes behind a pipe. For research. Not a medical device.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import tempfile
import threading
import weakref
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

__all__ = ["Error", "Model", "Result", "open"]
_PROGRAM = Path(__file__).with_name("mrprism-segment" + (".exe" if os.name == "nt" else ""))
_COLOURS = (63, 208, 255), (190, 245, 92), (245, 125, 183), (171, 154, 124), (106, 121, 255), (241, 218, 186)

Image = Union[str, "os.PathLike[str]", bytes, np.ndarray]


class Error(Exception):
    """Says what is wrong with a model, an image or an option, and what to do."""


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What a model says of an image of H x W pixels.

    Dictionaries have the structures' names, in the order of Model.structures.
    """

    image: np.ndarray
    """The image as displayed, (H, W, 3) of uint8: turned as its file says, grey or 16 bits as RGB."""
    probabilities: dict[str, np.ndarray]
    """How probable each structure is, (H, W) of float32 from 0 to 1; 0 outside of the region."""
    raters: dict[str, np.ndarray]
    """How probably each of Model.raters marks a pixel, (M, H, W) of float32 from 0 to 1; empty if
    the model predicts no raters or nobody asked."""
    data: dict[str, Any]
    """The JSON that program segment writes ("segment -h"): "measurements" has areas in pixels, ratios,
    their ranges and intervals; "trust", "doubts" and "found" say how far to believe them; "region" is
    in pixels, "times_ms" in milliseconds."""

    @property
    def masks(self) -> dict[str, np.ndarray]:
        """The masks, (H, W) of bool: above one half."""
        return {name: p > 0.5 for name, p in self.probabilities.items()}

    def __repr__(self) -> str:
        areas = ", ".join(f"{s['class']} {s['area']} px" for s in self.data["measurements"]["structures"])
        return f"<mrprism.Result {self.image.shape[1]}x{self.image.shape[0]}: {areas}>"

    def _repr_png_(self) -> bytes:
        step = -(-max(self.image.shape) // 1000)
        picture = self.image[::step, ::step].copy()
        for i, mask in enumerate(self.masks.values()):
            mask = np.pad(mask[::step, ::step], 2)  # a line of two pixels inside the mask
            inner = mask.copy()
            for axis in 0, 1:
                for by in -2, -1, 1, 2:
                    inner &= np.roll(mask, by, axis)
            picture[(mask & ~inner)[2:-2, 2:-2]] = _COLOURS[i % len(_COLOURS)]
        return _png(picture, 6)


class Model:
    """A model in a process of its own, which stays warm. Any number of threads may use it; they take turns.

    close(), the end of a with block, or nobody's holding the model ends the process. raters has experts, or
    levels of agreement such as "atleast2", as labels says: "raters", "agreement-levels" or "panels".
    """

    name: str
    title: str
    structures: list[str]
    raters: list[str]
    labels: str

    def __init__(self, command: list[str]) -> None:
        self._command, self._lock, self._closed = command, threading.Lock(), False
        self._start()

    def segment(
        self,
        image: Image,
        *,
        region: Union[str, tuple[int, int, int]] = "auto",
        recurrences: Optional[int] = None,
        eye: str = "",
        slice: int = 0,
        raters: bool = True,
    ) -> Result:
        """Segment one image.

        image: the path or the bytes of a PNG, JPEG, TIFF, BMP, WebP, DICOM or NIfTI, or an array of uint8
            or uint16, (H, W) or (H, W, 3) in the order red, green, blue. uint16 is windowed as a PNG.
        region: "auto" searches; "none" takes the whole image; (x, y, side) is a square in pixels.
        recurrences: feedbacks, 0 to 32; None: as many as the model was trained for.
        eye: "right" or "left"; empty: the file, its name or the picture tells.
        slice: page, frame or slice of a file, from 1; 0: the middle, of a TIFF the first.
        raters: False leaves out Result.raters, and is faster for large regions.

        Raises Error, with the message of program segment.
        """
        name, data = _file(image)
        roi = region if isinstance(region, str) else ",".join(str(int(n)) for n in region)
        call = {"name": name, "bytes": len(data), "roi": roi, "recurrences": recurrences, "eye": eye, "slice": slice, "raters": raters}
        with self._lock:
            if self._closed:
                raise Error("the model is closed: open it again")
            if not self._end.alive or self._owner != os.getpid():  # after Ctrl-C, or in a fork
                self._start()
            head, planes = self._exchange(json.dumps(call).encode() + b"\n", data)
        if "error" in head:
            raise Error(head["error"])
        picture, maps = planes[:2]

        def whole(part: np.ndarray) -> np.ndarray:
            out = np.zeros(part.shape[:-2] + picture.shape[:2], np.float32)
            out[..., head["y"] : head["y"] + part.shape[-2], head["x"] : head["x"] + part.shape[-1]] = part
            return out

        return Result(
            image=picture,
            probabilities={s: whole(maps[k]) for k, s in enumerate(self.structures)},
            raters={s: whole(planes[2][:, k]) for k, s in enumerate(self.structures)} if len(planes) > 2 else {},
            data=head["entry"],
        )

    def close(self) -> None:
        """End the process. Results stay."""
        with self._lock:
            self._closed = True
            self._end()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<mrprism.Model {self.name}: {', '.join(self.structures)}>"

    def _start(self) -> None:
        # Ctrl-C is Python's alone, and log has what the program says if it fails.
        if os.name == "nt":
            alone: dict[str, Any] = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
        else:
            alone = {"start_new_session": True}
        self._owner, self._log = os.getpid(), tempfile.TemporaryFile()
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, **alone)
        self._end = weakref.finalize(self, _stop, self._process, self._log, self._owner)
        about, _ = self._exchange()
        self.name, self.title, self.labels = about["name"], about["title"], about["labels"]
        self.structures, self.raters = about["structures"], about["raters"]

    def _exchange(self, *sent: bytes) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Write, and read a line of JSON and the arrays that its "planes" describe."""
        into, out = self._process.stdin, self._process.stdout
        assert into and out
        try:
            with suppress(OSError):  # the program has ended
                for data in sent:
                    into.write(data)
                into.flush()
                line = out.readline()
                head, planes = json.loads(line or "{}"), []
                for plane in head.get("planes") or ():
                    planes.append(np.empty(plane["shape"], plane["type"]))
                    if out.readinto(planes[-1].reshape(-1).view(np.uint8)) < planes[-1].nbytes:
                        line = b""
                if line:
                    return head, planes
            self._process.wait()
            self._log.seek(0)
            said = self._log.read().decode(errors="replace").strip()
            raise Error(said.replace("segment: ", "", 1).replace("; see segment -h", "") or "the program ended")
        except BaseException:  # Ctrl-C too: the pipe is out of step
            self._process.kill()
            self._end()
            raise


def open(model: Union[str, "os.PathLike[str]"] = "fundus", *, device: str = "", precision: str = "f32", program: Union[str, "os.PathLike[str]"] = _PROGRAM) -> Model:
    """Open a model: "fundus", "newborn-brain", "cells" or the path of a .safetensors file.

    device: auto, dawn, wgpu, processor or reference; empty: the environment's MRPRISM_DEVICE, else auto.
    precision: f32, f16 or int8.
    program: another build of program segment than this package's.
    """
    command = [os.fspath(program), "-pipe", "-weights", os.fspath(model), "-precision", precision]
    return Model(command + (["-device", device] if device else []))


def _stop(process: "subprocess.Popen[bytes]", log: Any, owner: int) -> None:
    if owner != os.getpid():
        return
    for pipe in process.stdin, process.stdout:
        with suppress(OSError):
            pipe.close()  # type: ignore[union-attr]
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    log.close()


def _file(image: Image) -> tuple[str, bytes]:
    """The name and the content of an image's file."""
    if isinstance(image, bytes):
        return "the image", image
    if isinstance(image, (str, os.PathLike)):
        return Path(image).name, Path(image).read_bytes()
    array = np.asarray(image)
    if array.dtype not in (np.uint8, np.uint16) or array.size == 0 or not (array.ndim == 2 or array.ndim == 3 and array.shape[2] == 3):
        raise Error(f"an array of {array.dtype} {array.shape}: give (H, W) or (H, W, 3) of uint8 or uint16")
    return "the array", _png(array, 0)


def _png(array: np.ndarray, level: int) -> bytes:
    rows = np.ascontiguousarray(array, array.dtype.newbyteorder(">")).reshape(len(array), -1).view(np.uint8)
    rows = np.pad(rows, ((0, 0), (1, 0)))  # filter 0: none
    head = struct.pack(">IIBBBBB", array.shape[1], array.shape[0], 8 * array.itemsize, 2 if array.ndim == 3 else 0, 0, 0, 0)
    out = b"\x89PNG\r\n\x1a\n"
    for kind, data in (b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), level)), (b"IEND", b""):
        out += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return out
