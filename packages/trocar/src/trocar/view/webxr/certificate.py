"""A self-signed certificate for the pages of this machine, kept in the user's cache with its private key."""

from __future__ import annotations

import datetime
import socket
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from trocar.files import read_whole, user_cache, write_whole
from trocar.view.access import EVERY_ADDRESS, LOOPBACK, ip_address

VALID = datetime.timedelta(days=365)
RENEWED = datetime.timedelta(days=7)  # before the end
SKEW = datetime.timedelta(days=1)  # by which the clock of a phone may be late
OTHERS = 0o077  # permission bits of everyone but the owner
NAME = "webxr.pem"


def certificate_file(host: str, folder: Path | None = None) -> Path:
    """File (PEM, mode 0600) with a private key and a certificate for an address that a server listens on.

    An earlier certificate is used again if it is valid, names the same machine and only its owner can read it, so
    that a browser that trusts it continues to do so.

    Args:
        folder: default: the user's cache.
    """
    path = (user_cache() if folder is None else folder) / NAME
    names = machine_names(host)
    return path if _usable(path, names) else write_whole(path, _certificate(names), private=True)


def machine_names(host: str) -> list[str]:
    """Names and addresses under which a browser reaches a server that listens on `host`."""
    names = {*LOOPBACK, host} - set(EVERY_ADDRESS)
    if host in EVERY_ADDRESS:
        names |= {socket.gethostname(), network_address()}
    return sorted(names)


def network_address() -> str:
    """Address of this machine in its network; 127.0.0.1 if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # of documentation; connecting a UDP socket sends nothing
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def fingerprint(path: Path) -> str:
    """SHA-256 of a certificate as browsers show it, "AB:CD:...": a user can compare the two."""
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    return certificate.fingerprint(hashes.SHA256()).hex(":").upper()


def _usable(path: Path, names: Collection[str]) -> bool:
    with suppress(Exception):  # a missing or damaged file is replaced
        content = read_whole(path, "certificate", 1 << 16)
        certificate = x509.load_pem_x509_certificate(content)
        serialization.load_pem_private_key(content, password=None)
        listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        known = {str(name.value) for name in listed}
        late = datetime.datetime.now(datetime.UTC) + RENEWED > certificate.not_valid_after_utc
        return set(names) <= known and not late and not path.stat().st_mode & OTHERS
    return False


def _certificate(names: Collection[str]) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "trocar on this machine")])
    now = datetime.datetime.now(datetime.UTC)
    addresses = {name: ip_address(name) for name in names}
    listed = [x509.IPAddress(ip) if ip is not None else x509.DNSName(name) for name, ip in addresses.items()]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName(listed), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    return private + certificate.public_bytes(pem)
