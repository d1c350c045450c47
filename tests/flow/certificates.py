"""Certificates for tests: an authority and what it issues."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Leaf:
    key: Any
    certificate: x509.Certificate

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        pem: bytes = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return pem


class Authority:
    def __init__(self, name: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = _name(name)
        self.certificate = self._sign(self.name, self.key.public_key(), ca=True)
        self.pem = self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def issue(
        self,
        name: str,
        *,
        ca: bool = False,
        days: tuple[int, int] = (-1, 1),
        san: str | None = None,
        key: Any = None,
    ) -> Leaf:
        key = key or ec.generate_private_key(ec.SECP256R1())
        return Leaf(key, self._sign(_name(name), key.public_key(), ca=ca, days=days, san=san))

    def _sign(
        self,
        subject: x509.Name,
        public_key: Any,
        *,
        ca: bool,
        days: tuple[int, int] = (-1, 1),
        san: str | None = None,
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + dt.timedelta(days=days[0]))
            .not_valid_after(now + dt.timedelta(days=days[1]))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        )
        if san is not None:
            try:
                name: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(san))
            except ValueError:
                name = x509.UniformResourceIdentifier(san) if "://" in san else x509.DNSName(san)
            builder = builder.add_extension(x509.SubjectAlternativeName([name]), critical=False)
        return builder.sign(self.key, hashes.SHA256())


def _name(common: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "DE"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Acme"),
            x509.NameAttribute(NameOID.COMMON_NAME, common),
        ]
    )
