"""The one way a client is opened, for voices and for downloads."""

from __future__ import annotations

import os
import ssl

import httpx2

from roundtable.voices.endpoints import Endpoint


def open_client(endpoint: Endpoint) -> httpx2.AsyncClient:
    """A client for one endpoint: no redirects, so that a key never travels to another host."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=endpoint.concurrency)
    url = httpx2.URL(endpoint.base_url)
    secure = url.scheme == "https"
    here = endpoint.local or url.host in ("127.0.0.1", "::1", "localhost")
    # Certificates are not read for plain http (it saves 40 ms), nor proxies asked for what runs on this machine.
    return httpx2.AsyncClient(
        verify=certificates() if secure else False,
        limits=limits,
        trust_env=not here,
        follow_redirects=False,
    )


def certificates() -> ssl.SSLContext | bool:
    """The authorities the person's other tools trust: PIP_CERT where it is set, else the client's own choice."""
    bundle = os.environ.get("PIP_CERT", "")
    if bundle and "SSL_CERT_FILE" not in os.environ and os.path.exists(bundle):
        return ssl.create_default_context(cafile=bundle)
    return True
