"""An authority for one session: so that the proxy can look into TLS to the hosts for which it holds secrets, and only those.

The key of the authority and of every certificate lives in memory and for a moment in an unlinked-at-once file of the private
folder (OpenSSL loads from files only). Only the one sandbox that is configured to trusts the authority, by the variables
that TLS libraries read. A client that does not believe it fails its handshake: that is reported, and nothing is sent.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from typing import TYPE_CHECKING

from operable.proc.sandbox.egress.rules import normal

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

# What OpenSSL, Node, Python, curl, git, Cargo, Deno, pip and the AWS libraries read.
TRUST_VARIABLES = (
    *("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"),
    *("CARGO_HTTP_CAINFO", "DENO_CERT", "PIP_CERT", "AWS_CA_BUNDLE"),
)
_DAYS = 7  # longer than any session; a leaked certificate is worthless soon
_KEPT = 64  # contexts; a wildcard covers any number of names, and each context has a key and about 100 kB
_SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)


class Authority:
    """Signs certificates for single host names."""

    def __init__(self, folder: str) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec

        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = _sign("Operable session authority", self._key, None, None)
        self._contexts: dict[str, ssl.SSLContext] = {}

    def bundle(self) -> bytes:
        """What the sandbox is to trust: the system's authorities and this one."""
        system = b""
        for path in _SYSTEM_BUNDLES:
            if os.path.exists(path):
                with open(path, "rb") as file:
                    system = file.read()
                break
        return system + self._pem(self._certificate)

    def context(self, host: str) -> ssl.SSLContext:
        """The server's side of a connection that pretends to be this host."""
        context = self._contexts.pop(host, None) or self._make(host)
        self._contexts[host] = context  # the last used is last
        if len(self._contexts) > _KEPT:
            del self._contexts[next(iter(self._contexts))]
        return context

    def _make(self, host: str) -> ssl.SSLContext:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _sign(host, key, self._certificate, self._key)
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        context.sni_callback = _refuse_other_names(host)
        handle, path = tempfile.mkstemp(dir=self._folder)  # 0600
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(secret + self._pem(certificate) + self._pem(self._certificate))
            context.load_cert_chain(path)
        finally:
            os.unlink(path)
        return context

    def _pem(self, certificate: x509.Certificate) -> bytes:
        from cryptography.hazmat.primitives import serialization

        return certificate.public_bytes(serialization.Encoding.PEM)


def _refuse_other_names(host: str) -> Callable[[ssl.SSLObject, str | None, ssl.SSLContext], int | None]:
    """A client that names another host than its CONNECT gets an alert instead of a handshake."""

    def compare(_: ssl.SSLObject, name: str | None, __: ssl.SSLContext) -> int | None:
        return None if name is None or normal(name) == host else ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME

    return compare


def _sign(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    by: ec.EllipticCurvePrivateKey | None,
) -> x509.Certificate:
    import datetime as dt
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    now = dt.datetime.now(dt.UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=_DAYS))
        .add_extension(
            x509.BasicConstraints(ca=issuer is None, path_length=0 if issuer is None else None), critical=True
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if issuer is None or by is None:
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        return builder.add_extension(usage, critical=True).sign(key, hashes.SHA256())
    try:
        alternative: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        alternative = x509.DNSName(name)
    return (
        builder.add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key()), critical=False)
        .sign(by, hashes.SHA256())
    )
