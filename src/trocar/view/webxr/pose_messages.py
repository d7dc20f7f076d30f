"""Messages between the page of a phone or headset and trocar: their shapes, and the checks of what the page sends."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta

from trocar.teleoperation.devices import TrackedHand
from trocar.teleoperation.devices.device import MAX_DISTANCE

HANDS = ("right", "left")
MAX_MESSAGE = 4096  # [bytes]; both hands take 500
UNIT = 1e-3  # tolerance of the length of a quaternion; WebXR has single precision

Metres = Annotated[float, Meta(ge=-MAX_DISTANCE, le=MAX_DISTANCE)]  # neither NaN nor infinite
Part = Annotated[float, Meta(ge=-1.0 - UNIT, le=1.0 + UNIT)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Button = Literal["clutch", "camera", "slower", "faster"]


class HandPose(msgspec.Struct, forbid_unknown_fields=True):
    """One hand in the axes of WebXR.

    Attributes:
        p: position [m]. q: orientation, a quaternion xyzw. closed: gripper, 0 open to 1 closed. buttons: held.
    """

    p: tuple[Metres, Metres, Metres]
    q: tuple[Part, Part, Part, Part]
    closed: Share
    buttons: Annotated[list[Button], Meta(max_length=4)]


class PoseMessage(msgspec.Struct, forbid_unknown_fields=True):
    """Both hands at one time; None if a hand is not tracked."""

    right: HandPose | None = None
    left: HandPose | None = None


_DECODER = msgspec.json.Decoder(PoseMessage)


def refusal(raw: str | bytes, hands: dict[str, TrackedHand]) -> str:
    """Pass a message on to its hands; returns the reason if it is refused, "" otherwise.

    Args:
        hands: by "right" and "left", those that the sender drives. All of them hold after a refused message.
    """
    reason = ""
    try:
        message = _DECODER.decode(raw)
        reason = (
            "" if all(_is_unit(getattr(message, hand)) for hand in HANDS) else "orientation is not a unit quaternion"
        )
    except Exception as error:  # whatever strange bytes make a decoder do
        reason = str(error)
    for side, hand in hands.items():
        pose: HandPose | None = None if reason else getattr(message, side)
        if reason:
            hand.lose(f"sends a message that is refused ({reason[:70]})")
        elif pose is None:
            hand.lose("is not tracked")
        else:
            hand.put(np.array(pose.p), np.array(pose.q), pose.closed, frozenset(pose.buttons))
    return reason


def _is_unit(hand: HandPose | None) -> bool:
    return hand is None or abs(math.hypot(*hand.q) - 1.0) <= UNIT
