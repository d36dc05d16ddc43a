"""A real server of one archive over https, and the faults that servers have."""

import hashlib
import io
import random
import ssl
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from replication.study.datasets import Archive, Member

CERTIFICATE = Path(__file__).with_name("localhost.pem")
"""Signed by itself, for localhost only; nobody trusts it but who names it in REQUESTS_CA_BUNDLE."""

STEP = 1 << 16
PATIENCE = 30.0
"""Seconds that a server waits for a client to hang up."""


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
        self.redirect: str | None = None
        self.ranges = True
        self.shift = 0
        """Bytes by which an answer begins later than asked for."""
        self.stops_at: int | None = None
        """Position in the content after which the connection is closed."""
        self.hangs = threading.Event()
        """Unless it is set, the connection stays open where it stops."""
        self.hangs.set()
        self.rests_at: int | None = None
        """Position in the content after which it waits for the client to hang up."""
        self.announces_length = True
        self.asked: list[str | None] = []
        """The Range header of every request."""
        self.sent = 0
        self.agents: set[str] = set()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"https://localhost:{self.server_address[1]}/data/texts-v1.zip"

    def handle_error(self, request, client_address) -> None:
        """A client that was killed or that refuses the certificate is no error of the server."""

    def __exit__(self, *error: object) -> None:
        self.hangs.set()
        self.shutdown()
        super().__exit__(*error)


class _Handler(BaseHTTPRequestHandler):
    server: ArchiveServer

    def do_GET(self) -> None:
        server, asked = self.server, self.headers["Range"]
        server.asked.append(asked)
        server.agents.add(self.headers["User-Agent"])
        size, start = len(server.content), 0
        if server.redirect:
            self.send_response(302)
            self.send_header("Location", server.redirect)
        elif asked and server.ranges and server.status == 200:
            start = int(asked.removeprefix("bytes=").removesuffix("-")) + server.shift
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        else:
            self.send_response(server.status)
        if server.announces_length:
            self.send_header("Content-Length", str(size - start))
        self.end_headers()
        end = size if server.stops_at is None else server.stops_at
        for place in range(start, end, STEP):
            if server.rests_at is not None and place > server.rests_at and self._hung_up():
                return
            piece = server.content[place : min(place + STEP, end)]
            self.wfile.write(piece)
            server.sent += len(piece)
        if end < size:
            server.hangs.wait()

    def _hung_up(self) -> bool:
        """Wait for the client to say something, which a hanging up is, as requests have ended."""
        self.server.rests_at = None
        self.connection.settimeout(PATIENCE)
        try:
            return not self.connection.recv(1)
        except TimeoutError:
            return False

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def texts(seed: int = 0, words: int = 100_000) -> dict[str, bytes]:
    """Random running text for every split, in lines with titles."""
    draw = random.Random(seed)
    sizes = {"train": words, "valid": 1000, "test": 1100}
    return {
        split: b" \n = Title = \n \n " + draw.randbytes(3 * size).hex(" ", 3).encode() + b" \n"
        for split, size in sizes.items()
    }


def zipped(texts: dict[str, bytes]) -> bytes:
    """The archive of the texts, in a folder of it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.mkdir("texts")
        for split in ("test", "valid", "train"):
            opened.writestr(f"texts/words.{split}.tokens", texts[split])
    return stream.getvalue()


TEXTS = texts()
CONTENT = zipped(TEXTS)
WHOLE = {"texts-v1.zip": CONTENT, **{f"{split}.txt": text for split, text in TEXTS.items()}}
"""What a folder holds when all went well."""


def archive_of(url: str, content: bytes) -> Archive:
    """What a registry says of an archive."""
    members = {f"{split}.txt": Member(path=f"texts/words.{split}.tokens") for split in TEXTS}
    sha256 = hashlib.sha256(content).hexdigest()
    return Archive(url=url, sha256=sha256, bytes=len(content), files=members)


def left(folder: Path) -> dict[str, bytes]:
    """Name to content of the files in a folder but locks, if there is one."""
    found = folder.iterdir() if folder.exists() else ()
    return {path.name: path.read_bytes() for path in found if path.suffix != ".lock"}
