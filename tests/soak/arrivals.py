"""When probes arrive, by the kernel's clock: every TCP SYN, UDP datagram and
ICMP echo request that reaches one of the watched addresses. A connect-only
probe never comes out of accept(), so the listeners themselves cannot count."""

import ctypes
import socket
import struct
import threading

ETH_P_IP = 0x0800
SO_ATTACH_FILTER = 26
SO_TIMESTAMPNS = 35
SOL_PACKET, PACKET_STATISTICS = 263, 6
PACKET_OUTGOING = 4  # loopback shows each packet twice
ROOM = 8 << 20

# Classic BPF from the IP header on: ICMP type 8, TCP with SYN and no ACK,
# UDP; 64 bytes of them. source: linux/filter.h, RFC 791, 792, 9293
FILTER = [
    (0x30, 0, 0, 9),     # 0 ldb protocol
    (0x15, 2, 0, 1),     # 1 ICMP: 4
    (0x15, 3, 0, 6),     # 2 TCP: 6
    (0x15, 5, 6, 17),    # 3 UDP: 9, else 10
    (0x30, 0, 0, 20),    # 4 ldb ICMP type
    (0x15, 3, 4, 8),     # 5 echo request: 9, else 10
    (0x30, 0, 0, 33),    # 6 ldb TCP flags
    (0x54, 0, 0, 0x12),  # 7 SYN and ACK
    (0x15, 0, 1, 0x02),  # 8 only SYN: 9, else 10
    (0x06, 0, 0, 64),    # 9 take it
    (0x06, 0, 0, 0),     # 10 leave it
]


class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


class Arrivals:
    """with Arrivals({"127.0.1.1", …}) as a: a.times["127.0.1.1"] is the list
    of seconds (since the epoch) at which probes came."""

    def __init__(self, addresses):
        self.times = {a: [] for a in addresses}
        self._ports = {}  # the source of the last TCP probe of each
        self._by_bytes = {socket.inet_aton(a): t
                          for a, t in self.times.items()}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        code = b"".join(struct.pack("HBBI", *i) for i in FILTER)
        buffer = ctypes.create_string_buffer(code)
        s.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                     bytes(Program(len(FILTER), ctypes.addressof(buffer))))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        s.bind(("lo", ETH_P_IP))
        s.settimeout(0.2)
        self._socket = s
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join(5)
        self._socket.close()

    def _run(self):
        while not self._over.is_set():
            try:
                packet, extra, _, address = self._socket.recvmsg(64, 64)
            except (TimeoutError, socket.timeout):
                continue
            times = self._by_bytes.get(packet[16:20])
            if times is None or address[2] == PACKET_OUTGOING or \
                    self._is_again(packet):
                continue
            for level, kind, data in extra:
                if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                    s, ns = struct.unpack("qq", data)
                    times.append(s + ns / 1e9)

    def _is_again(self, packet):
        """The kernel sends a SYN once more after a second: when the probe's
        time was over and the service was not there yet."""
        if packet[9] != socket.IPPROTO_TCP:
            return False
        port, last = packet[20:22], self._ports.get(packet[16:20])
        self._ports[packet[16:20]] = port
        return port == last

    def dropped(self):
        """Packets that came too fast for us since the last call."""
        return struct.unpack("II", self._socket.getsockopt(
            SOL_PACKET, PACKET_STATISTICS, 8))[1]


def gaps(times, begin, end):
    """Seconds between the probes of that part of the run."""
    inside = [t for t in times if begin <= t <= end]
    return [b - a for a, b in zip(inside, inside[1:])]


def share(sorted_values, part):
    """The value that this part of them does not exceed."""
    if not sorted_values:
        return 0.0
    return sorted_values[min(len(sorted_values) - 1,
                             int(part * len(sorted_values)))]
