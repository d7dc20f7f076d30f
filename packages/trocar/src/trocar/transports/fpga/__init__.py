"""The dVRK's controller boards over UDP: the real dVRK software drives simulated arms.

`packets` and `registers` are the boards, `plant` the arms on their wires, `controller` answers requests, `server` is
the UDP port. See docs/fpga.md.
"""
