"""What stands before the gateways: it has the address that a browser knows, and passes each connection on to one of them."""

import contextlib
import socket
import threading


class Front:
    """`target` is the port that gets new connections."""

    def __init__(self):
        self.target = None
        self.server = socket.create_server(("127.0.0.1", 0))
        self.authority = f"127.0.0.1:{self.server.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.server.accept()
                threading.Thread(target=self.join, args=(client,), daemon=True).start()

    def join(self, client):
        try:
            gateway = socket.create_connection(("127.0.0.1", self.target), 5)
        except OSError:
            client.close()
            return
        gateway.settimeout(None)
        threading.Thread(target=self.pump, args=(gateway, client), daemon=True).start()
        self.pump(client, gateway)

    @staticmethod
    def pump(source, sink):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                sink.sendall(piece)
        for end in source, sink:
            # Both directions: the browser must notice that a gateway was killed.
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def stop(self):
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
