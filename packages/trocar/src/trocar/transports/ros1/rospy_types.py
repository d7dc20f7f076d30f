"""Types for rospy: classes whose messages are bytes of the codec, and the packages crtk_msgs and cisst_msgs.

genpy generates the packages for other programs that lack them; trocar does not use them.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import struct
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from trocar.errors import TrocarError
from trocar.files import user_cache
from trocar.transports.codec import codec
from trocar.transports.ros_messages import MESSAGES, SERVICES, definition, message_class

GENERATED = ("crtk_msgs", "cisst_msgs")
IF_MISSING = ("tf2_msgs",)  # in Debian a separate package that is rarely installed


class WireMessage:
    """A message as bytes; rospy counts the messages of a topic in the first field of their header."""

    _has_header = False

    def __init__(self, data: bytes = b"") -> None:
        self.data = data
        self.header = SimpleNamespace(seq=0, frame_id="")

    def serialize(self, buff: Any) -> None:
        buff.write(struct.pack("<I", self.header.seq) + self.data[4:] if self._has_header else self.data)

    def deserialize(self, data: bytes) -> WireMessage:
        self.data = bytes(data)
        return self


@functools.cache
def wire_class(ros_type: str) -> Any:
    """Class of the messages of a type, or of a part of a service such as std_srvs/Trigger_Request."""
    import genpy

    text, checksum = codec(1).definition_and_checksum(ros_type)
    fields = message_class(ros_type).__slots__
    stamped = bool(fields) and fields[0] == "header"
    members = {"_type": ros_type, "_md5sum": checksum, "_full_text": text, "_has_header": stamped}
    return type(ros_type.replace("/", "_"), (WireMessage, genpy.Message), members)


@functools.cache
def service_class(ros_type: str) -> Any:
    """Class of a service for rospy."""
    parts = {f"_{part.lower()}_class": wire_class(f"{ros_type}_{part}") for part in ("Request", "Response")}
    members = {"_type": ros_type, "_md5sum": codec(1).service_checksum(ros_type), **parts}
    return type(ros_type.replace("/", "_"), (), members)


def generate_packages() -> Path:
    """Folder of the packages, in the user's cache folder; generated once."""
    texts = _definitions()
    packages = (*GENERATED, *(name for name in IF_MISSING if find_spec(name) is None))
    key = hashlib.sha256(repr((packages, sorted(texts.items()))).encode()).hexdigest()[:12]
    final = user_cache() / "ros1" / key
    if not final.is_dir():
        final.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=final.parent))
        try:
            _generate(texts, packages, draft)
            os.rename(draft, final)
        except OSError:
            if not final.is_dir():  # otherwise another process was faster
                raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return final


def _definitions() -> dict[str, str]:
    """Texts of the .msg and .srv files by package/folder/file, for all packages, because they refer to each other."""
    texts = {name.replace("/", "/msg/") + ".msg": definition(message) for name, message in MESSAGES.items()}
    for name, service in SERVICES.items():
        parts = definition(service.Request), definition(service.Response)
        texts[name.replace("/", "/srv/") + ".srv"] = "---\n".join(parts)
    return texts


def _generate(texts: dict[str, str], packages: tuple[str, ...], folder: Path) -> None:
    from genpy.generate_initpy import write_modules
    from genpy.generator import MsgGenerator, SrvGenerator

    source = folder / "definitions"
    for name, text in texts.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    search = {package.name: [str(package / "msg")] for package in source.iterdir()}
    for package in packages:
        for part, generator in (("msg", MsgGenerator()), ("srv", SrvGenerator())):
            files = [str(file) for file in sorted((source / package / part).glob("*"))]
            if files:
                out = folder / package / part
                out.mkdir(parents=True)
                if generator.generate_messages(package, files, str(out), search):
                    raise TrocarError(f"genpy cannot generate {package}/{part}")
                write_modules(str(out))
        (folder / package / "__init__.py").write_text("")
