"""The stand-in for PyKDL equals Debian's PyKDL: every operation, special cases and the printed form."""

import copy
import inspect
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trocar.scripts import pykdl

SYSTEM_PYTHON = "/usr/bin/python3"


def results(K, cases):
    """Numbers, texts and kinds of errors of every operation, for vectors of 24 numbers; runs in either Python."""
    import copy
    import math
    import pickle

    rows = []

    def numbers(x):
        if isinstance(x, K.Frame):
            return [x[i, j] for i in range(3) for j in range(4)]
        if isinstance(x, K.Rotation):
            return [x[i, j] for i in range(3) for j in range(3)]
        if isinstance(x, K.Vector):
            return [x[i] for i in range(3)]
        if isinstance(x, (K.Twist, K.Wrench)):
            return [x[i] for i in range(6)]
        if isinstance(x, (tuple, list)):
            return [n for part in x for n in numbers(part)]
        return [float(x)]

    def error(operation):
        try:
            operation()
        except Exception as raised:
            return type(raised).__name__
        return "none"

    def note(name, x):
        rows.append([name, x if isinstance(x, str) else numbers(x)])

    def note_rotation(name, r):
        note(name, r)
        for get in ("GetQuaternion", "GetRPY", "GetEulerZYX", "GetEulerZYZ", "GetRotAngle", "GetRot"):
            note(f"{name} {get}", getattr(r, get)())

    for case in cases:
        v, w, axis = (K.Vector(*case[k : k + 3]) for k in (0, 3, 6))
        a, b, c, d = case[9:13]
        norm = math.sqrt(sum(x * x for x in case[13:17]))
        quaternion = [x / norm for x in case[13:17]]
        R, S = K.Rotation.Quaternion(*quaternion), K.Rotation.RPY(a, b, c)
        f, g = K.Frame(R, v), K.Frame(S, w)
        twist, wrench = K.Twist(v, w), K.Wrench(w, axis)
        for name, x in {
            "sum": v + w, "difference": v - w, "cross": v * w, "scaled": v * d, "factor": d * v, "divided": v / d,
            "negative": -v, "norm": v.Norm(), "dot": K.dot(v, w), "x y z": (v.x(), v.y(), v.z()), "zero": v.Zero(),
            "RotX": K.Rotation.RotX(a), "RotY": K.Rotation.RotY(a), "RotZ": K.Rotation.RotZ(a),
            "EulerZYX": K.Rotation.EulerZYX(a, b, c), "EulerZYZ": K.Rotation.EulerZYZ(a, b, c), "RPY": S,
            "Rot": K.Rotation.Rot(axis, d), "Rot2": K.Rotation.Rot2(axis, d), "columns": K.Rotation(v, w, axis),
            "nine": K.Rotation(*case[:9]), "identity": (K.Rotation.Identity(), K.Frame.Identity()),
            "units": (R.UnitX(), R.UnitY(), R.UnitZ()), "R S": R * S, "R v": R * v, "R inverse": R.Inverse(),
            "R inverse v": R.Inverse(v), "R twist": R * twist, "R wrench": R * wrench,
            "R inverse twist": R.Inverse(twist), "R inverse wrench": R.Inverse(wrench),
            "f": f, "f g": f * g, "f v": f * v, "f inverse": f.Inverse(), "f inverse v": f.Inverse(v),
            "f twist": f * twist, "f wrench": f * wrench, "f inverse twist": f.Inverse(twist),
            "f inverse wrench": f.Inverse(wrench), "f of v": K.Frame(v), "f of R": K.Frame(R), "f of f": K.Frame(f),
            "DH": K.Frame.DH(a, b, c, d), "Craig": K.Frame.DH_Craig1989(a, b, c, d),
            "twists": twist + K.Twist(w, axis), "twist -": twist - K.Twist(w, axis), "- twist": -twist,
            "twist d": (twist * d, d * twist, twist / d), "twist at": twist.RefPoint(axis),
            "wrenches": wrench + K.Wrench(v, v), "wrench d": (wrench * d, d * wrench, wrench / d, -wrench),
            "wrench at": wrench.RefPoint(axis), "power": K.dot(twist, wrench), "power again": K.dot(wrench, twist),
            "diff v": K.diff(v, w, d), "diff R": K.diff(R, S), "diff f": K.diff(f, g, d),
            "diff twist": K.diff(twist, K.Twist(w, v)), "diff wrench": K.diff(wrench, K.Wrench(w, v)),
            "add v": K.addDelta(v, w, d), "add R": K.addDelta(R, v, d), "add f": K.addDelta(f, twist, d),
            "add twist": K.addDelta(twist, K.Twist(w, v), d), "add wrench": K.addDelta(wrench, wrench, d),
            "keywords": (K.Vector(x=a, y=b, z=c), K.Rotation.Quaternion(x=a, y=b, z=c, w=d), K.Frame(R=R, V=v)),
        }.items():  # fmt: skip
            note(name, x)
        note_rotation("R", R)
        note_rotation("S", S)
        for small in (0.0, 1e-9, 3e-7, 1e-5, 1e-3):
            for turn in (0.0, math.pi):
                note_rotation(f"near {turn:.0f}", K.Rotation.Rot(axis, turn + small))
        for x in (v, R, f, twist, wrench):
            note("text", str(x) + repr(x))
            for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
                note("copy", other)
                note("equal", [x == other, x != other, K.Equal(x, other), K.Equal(x, other, 1e-3)])
            note("unequal", [x == 3, x != 3, x == None])  # noqa: E711
        for small in (1e-9, 0.9e-6, 1.1e-6):
            moved = K.Vector(v)
            moved[0] += small
            note("tolerance", [v == moved, v != moved, K.Equal(v, moved, 1e-5), K.Frame(R, moved) == f])
        note("integrated", [f.Integrate(twist, 10.0) is None])
        note("integrated", f)
        p, M = f.p, f.M
        p[1] = 7.5
        note("live p", f)
        f.p = w
        w[0] += 1.0
        note("copied p", [f, p])
        M.DoRotX(a)
        M.DoRotY(b)
        M.DoRotZ(c)
        note("live M", f)
        f.M = S
        S.DoRotX(1.0)
        note("copied M", [f, M])
        f[1, 3], f[0, 0] = 3.0, 0.25
        M[2, 1] = 0.5
        note("elements", [f, f.p, f.M])
        M.UnitY(v)
        M.SetInverse()
        note("column", f)
        vel = twist.vel
        vel[0] = -1.0
        twist.rot = v
        twist[1] = 4.0
        note("live twist", [twist, vel, v])
        wrench.force = v
        wrench.torque[2] = 9.0
        note("live wrench", wrench)
        same = v
        v += w
        v -= axis
        same.x(2.0)
        note("in place", [v, same])
        twist += twist
        wrench -= K.Wrench(w, w)
        note("in place", [twist, wrench])
        note("norms", [v.Normalize(), *v])
        v.ReverseSign()
        twist.ReverseSign()
        note("reversed", [v, twist])
        K.SetToZero(v)
        note("zero", v)

    for axis in [(1, 0, 0), (0, -1, 0), (0, 0, -1), (1, -1, 0), (-1, 0, 1), (0, 1, -1), (-1, -1, -1), (1, 2, -3)]:
        note_rotation("half turn", K.Rotation.Rot(K.Vector(*axis), math.pi))
    for pitch in (math.pi / 2, -math.pi / 2):
        note_rotation("gimbal lock", K.Rotation.RPY(0.3, pitch, 0.1))
    note_rotation("ZYZ 0", K.Rotation.EulerZYZ(0.1, 0.0, 0.2))
    note_rotation("ZYZ pi", K.Rotation.EulerZYZ(0.1, math.pi, 0.2))
    for tiny in (1e-7, 9e-7, 2e-6):
        vector = K.Vector(tiny, tiny, 0)
        note("tiny", [vector.Norm(), vector.Norm(1e-9), vector.Normalize(), *vector])
    note("Rot of no axis", K.Rotation.Rot(K.Vector(), 1.0))
    note("printed", repr(K.Vector(1e-20, 123456789, -0.0)) + repr(K.Vector(0.1 + 0.2, 1234567.5, 1e5)))
    v, R, f = K.Vector(1, 2, 3), K.Rotation(), K.Frame()
    for name, operation in {
        "v[3]": lambda: v[3], "v[-1]": lambda: v[-1], "v[.]": lambda: v[0.5], "R[0]": lambda: R[0],
        "R[3, 0]": lambda: R[3, 0], "R[-1, 0]": lambda: R[-1, 0], "f[3, 3]": lambda: f[3, 3], "f[0]": lambda: f[0],
        "f[0, 4]": lambda: f[0, 4], "two": lambda: K.Vector(1, 2), "list": lambda: K.Vector([1, 2, 3]),
        "text": lambda: K.Vector(1, "a", 2), "hash": lambda: hash(v), "len": lambda: len(v), "R 2": lambda: R * 2,
        "f 2": lambda: f * 2, "v f": lambda: v * f, "v + 1": lambda: v + 1, "Rotation": lambda: K.Rotation(1, 2),
        "Frame": lambda: K.Frame(1), "Frame R": lambda: K.Frame(v, R), "Twist": lambda: K.Twist(v),
        "twist[6]": lambda: K.Twist()[6], "dot": lambda: K.dot(v, 1), "diff": lambda: K.diff(v, f),
        "addDelta": lambda: K.addDelta(f, v), "Equal": lambda: K.Equal(v, f),
    }.items():  # fmt: skip
        note(name, error(operation))
    return rows


def _cases():
    random = np.random.default_rng(5)
    cases = random.normal(size=(25, 24))
    cases[0, 13:17] = (0, 0, 0, 1)
    cases[1, 13:17] = (0, 1, 0, 0)
    cases[:, 12] += np.sign(cases[:, 12])  # a time, not near 0
    return cases.tolist()


@pytest.mark.skipif(
    subprocess.run([SYSTEM_PYTHON, "-c", "import PyKDL"], capture_output=True).returncode != 0
    if Path(SYSTEM_PYTHON).exists()
    else True,
    reason="the system's Python has no PyKDL: apt install python3-pykdl",
)
def test_every_operation_equals_the_system_pykdl():
    source = inspect.getsource(results)
    program = f"{source}\nimport json, sys, PyKDL\njson.dump(results(PyKDL, json.load(sys.stdin)), sys.stdout)"
    run = subprocess.run(
        [SYSTEM_PYTHON, "-c", program], input=json.dumps(_cases()), capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    theirs, ours = json.loads(run.stdout), results(pykdl, _cases())
    assert [name for name, _ in ours] == [name for name, _ in theirs]
    wrong = []
    for (name, mine), (_, other) in zip(ours, theirs, strict=True):
        same = mine == other if isinstance(mine, str) else np.allclose(mine, other, rtol=1e-12, atol=1e-12)
        if not same:
            wrong.append((name, mine, other))
    assert not wrong, wrong[:5]
    assert len(ours) > 4000


def test_unknown_names_are_refused_with_an_alternative():
    with pytest.raises(AttributeError, match=r"PyKDL\.Chain is not offered .* arm\.inverse_kinematics"):
        pykdl.Chain  # noqa: B018


def test_numpy_scalars_are_factors_on_both_sides():
    v = pykdl.Vector(*np.array([1, 2, 3]))
    assert v * np.float64(2) == pykdl.Vector(2, 4, 6) == np.float64(2) * v


def test_results_are_copies_and_never_share_their_numbers():
    T = np.eye(4)
    frame = pykdl.Frame.from_matrix(T)
    frame.p[0] = 1.0
    frame.to_matrix()[0, 3] = 5.0
    assert T[0, 3] == 0.0
    assert frame.p[0] == 1.0
    assert copy.deepcopy(frame) == pickle.loads(pickle.dumps(frame)) == frame
    assert sys.modules.get("PyKDL") is not pykdl
