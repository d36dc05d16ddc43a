"""A real server of one archive over https, and the faults that servers have."""

import hashlib
import io
import random
import ssl
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from replication.study.datasets import Archive

CERTIFICATE = Path(__file__).with_name("localhost.pem")
"""Signed by itself, for localhost only; nobody trusts it but who names it in REQUESTS_CA_BUNDLE."""


class ArchiveServer(ThreadingHTTPServer):
    """Serves `content`, as its attributes say, in a thread of its own."""

    daemon_threads = True

    def __init__(self, content: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )
        self.content = content
        self.status = 200
        self.breaks = 0
        """Number of answers that end in their middle."""
        self.goes_on = threading.Event()
        """Unless it is set, an answer stops in its middle until it is."""
        self.goes_on.set()
        self.agents: list[str] = []
        """Program that asked, of every request."""
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"https://localhost:{self.server_address[1]}/data/texts-v1.zip"

    def handle_error(self, request, client_address) -> None:
        """A client that was killed or that refuses the certificate is no error of the server."""

    def __exit__(self, *error: object) -> None:
        self.goes_on.set()
        self.shutdown()
        super().__exit__(*error)


class _Handler(BaseHTTPRequestHandler):
    server: ArchiveServer

    def do_GET(self) -> None:
        server, content = self.server, self.server.content
        server.agents.append(self.headers["User-Agent"])
        self.send_response(server.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])
        if server.breaks:
            server.breaks -= 1
            return
        server.goes_on.wait()
        self.wfile.write(content[len(content) // 2 :])

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def zipped(texts: dict[str, bytes]) -> bytes:
    """The archive of the texts, in a folder of it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as opened:
        for split, text in texts.items():
            opened.writestr(f"texts/words.{split}.tokens", text)
    return stream.getvalue()


DRAW = random.Random(0)
TEXTS = {
    split: b" \n = Title = \n \n " + DRAW.randbytes(size).hex(" ", 3).encode() + b" \n"
    for split, size in {"train": 300_000, "valid": 3000, "test": 3300}.items()
}
CONTENT = zipped(TEXTS)
WHOLE = {"texts-v1.zip": CONTENT, **{f"{split}.txt": text for split, text in TEXTS.items()}}
"""What a folder holds when all went well."""


def archive_of(url: str, content: bytes) -> Archive:
    """What a registry says of an archive."""
    members = {f"{split}.txt": f"texts/words.{split}.tokens" for split in TEXTS}
    sha256 = hashlib.sha256(content).hexdigest()
    return Archive(url=url, sha256=sha256, bytes=len(content), files=members)


def left(folder: Path) -> dict[str, bytes]:
    """Name to content of the files in a folder, if there is one."""
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}
