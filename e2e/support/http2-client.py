"""Makes one request with a body in two parts, with the h2 package. Arguments: CA file, port, host name."""

import json
import socket
import ssl
import sys

import h2.connection
import h2.events

ca, port, host = sys.argv[1:]
context = ssl.create_default_context(cafile=ca)
context.set_alpn_protocols(["h2"])
tls = context.wrap_socket(socket.create_connection(("127.0.0.1", int(port)), timeout=20), server_hostname=host)
connection = h2.connection.H2Connection()
connection.initiate_connection()
stream = connection.get_next_available_stream_id()
head = [(":method", "POST"), (":scheme", "https"), (":authority", f"{host}:{port}"), (":path", "/")]
connection.send_headers(stream, head)
connection.send_data(stream, b"hello ")
tls.sendall(connection.data_to_send())
connection.send_data(stream, b"again", end_stream=True)
tls.sendall(connection.data_to_send())
status, body, ended = None, b"", False
while not ended:
    received = tls.recv(65536)
    if not received:
        sys.exit("the connection has ended")
    for event in connection.receive_data(received):
        if isinstance(event, h2.events.ResponseReceived):
            status = dict(event.headers)[b":status"].decode()
        elif isinstance(event, h2.events.DataReceived):
            body += event.data
            connection.acknowledge_received_data(event.flow_controlled_length, stream)
        elif isinstance(event, h2.events.StreamEnded):
            ended = True
        elif isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)):
            sys.exit(f"broken: {event}")
    tls.sendall(connection.data_to_send())
seen = json.loads(body)
print(status, seen["method"], seen["length"])
