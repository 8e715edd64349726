"""python3 listener.py ADDRESS PORT FILE: a service that accepts connections.

PORT 0 lets the kernel choose. The port is written to FILE once connections
are accepted. Ends by SIGTERM.
"""

import os
import socket
import sys

address, port, ready = sys.argv[1], int(sys.argv[2]), sys.argv[3]
service = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
service.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
service.bind((address, port))
service.listen(64)
with open(ready + ".new", "w") as f:
    print(service.getsockname()[1], file=f)
os.rename(ready + ".new", ready)
while True:
    try:
        client, _ = service.accept()
    except ConnectionError:  # gone before it was accepted
        continue
    client.close()
