"""A schema registry in this process: the requests of Confluent's published API that a reader of messages needs."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf import descriptor_pb2

LOGIN = "Basic " + base64.b64encode(b"reader:open sesame").decode()


class StubRegistry:
    """Schemas by id and by subject, versions counted from 1; ``asked`` are the paths of all requests."""

    def __init__(self) -> None:
        self.schemas: dict[int, dict[str, Any]] = {}
        self.subjects: dict[tuple[str, int], int] = {}
        self.asked: list[str] = []
        self.status = 200
        self.closed_to_strangers = self.gives_text_only = False
        self.url = ""

    def add(
        self, subject: str, schema: Any, kind: str = "AVRO", references: list[tuple[str, str]] | None = None
    ) -> int:
        """Register a schema, of Protobuf a descriptor of its file; return its id."""
        number = len(self.schemas) + 1
        text = schema if isinstance(schema, descriptor_pb2.FileDescriptorProto) else json.dumps(schema)
        known: dict[str, Any] = {"schema": text}
        if kind != "AVRO":  # as the real ones, which leave the default out
            known["schemaType"] = kind
        if references:
            known["references"] = [{"name": name, "subject": other, "version": 1} for name, other in references]
        self.schemas[number] = known
        self.subjects[subject, 1] = number
        return number

    def answer(self, path: str, login: str | None) -> tuple[int, Any]:
        self.asked.append(path)
        if self.status != 200:
            return self.status, {"error_code": self.status * 100, "message": "not now"}
        if self.closed_to_strangers and login != LOGIN:
            return 401, {"error_code": 401, "message": "Unauthorized"}
        path, _, query = path.partition("?")
        parts = path.strip("/").split("/")
        if parts == ["schemas", "types"]:
            return 200, ["JSON", "PROTOBUF", "AVRO"]
        number: int | None = None
        if parts[:2] == ["schemas", "ids"]:
            number = int(parts[2])
        elif parts[0] == "subjects":
            number = self.subjects.get((parts[1], int(parts[3])))
        if number not in self.schemas:
            return 404, {"error_code": 40403, "message": f"Schema {number} not found"}
        found = dict(self.schemas[number])
        if isinstance(found["schema"], descriptor_pb2.FileDescriptorProto):
            serialised = query == "format=serialized" and not self.gives_text_only
            whole = base64.b64encode(found["schema"].SerializeToString()).decode()
            found["schema"] = whole if serialised else 'syntax = "proto3";'
        return 200, found


@contextmanager
def stub_registry() -> Iterator[StubRegistry]:
    """Serve a registry until the end of the block."""
    one = StubRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, answer = one.answer(self.path, self.headers.get("Authorization"))
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    one.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield one
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
