# SPDX-License-Identifier: MIT
"""Reads recordings as lib/watch/format.h says, and by nothing else of the project."""

import mmap
import struct
from types import SimpleNamespace

OVERLAP, EVENT, BLOCK_START, COOPERATIVE, CLUSTER = 1, 2, 4, 16, 32
CAPTURED, ASKED, ADDED, REMOVED = 64, 128, 256, 512
COPY, SET, EVENT_RECORD, EVENT_WAIT, HOST_FUNCTION, GRAPH_LAUNCH, VALUE, ALLOCATION, SYNCHRONIZE = range(1, 10)
CAPTURE_BEGIN, CAPTURE_END = 10, 11

# By kind: a name, how its members are packed behind the record's header, and what they are called. What follows is text or bytes.
KINDS = {
    1: ("name", "II", "id reserved"),
    2: ("device", "12I16s", "context device capability sms threads blocks registers shared_memory "
        "shared_memory_per_block reserved_shared_memory threads_per_block clock_khz uuid"),
    3: ("function", "IIQ6iII", "id name handle registers static_shared local ptx_version binary_version carveout "
        "device proved"),
    4: ("image", "IIQ", "form target hash"),
    5: ("launch", "QQ8I3I3HhI", "begin_ns stream duration_ns correlation function number nth context thread flags "
        "grid_x grid_y grid_z block_x block_y block_z result dynamic_shared"),
    6: ("operation", "QQQ6I", "begin_ns stream detail duration_ns correlation operation context thread captured"),
    7: ("execution", "QQQ5I3I3HH4I", "start_ns end_ns node correlation graph context stream name grid_x grid_y grid_z "
        "block_x block_y block_z registers static_shared dynamic_shared shared_size from_device"),
    8: ("transfer", "QQQQ6I", "start_ns end_ns node bytes correlation graph context stream operation reserved"),
    9: ("graph", "QQ4I", "handle time_ns graph nodes edges context"),
    10: ("node", "QQ6I4HI", "node graph type function flags grid_x grid_y grid_z block_x block_y block_z reserved "
         "dynamic_shared"),
    11: ("edge", "QQQ3B5s", "from_ to graph from_port to_port type reserved"),
    12: ("clone", "QQ", "original node"),
    14: ("note", "", ""),
}
PAGE = 4096


class Recording:
    """One file. A list for each kind of record: launches, executions, …"""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            data = file.read()
        self.size = len(data)
        (magic, self.version, order, header_size, self.process, self.parent, self.ended, self.start_ns, _,
         self.lost, self.lost_device, self.cupti_version, self.driver_version, at, _) = struct.unpack_from(
             "=8s6I4Q4I", data)
        assert magic == b"PDLWATCH" and self.version == 1 and order == 0x01020304, (magic, self.version, order)
        assert header_size == 1104, header_size
        self.command = data[80:80 + 1024].split(b"\0")[0].decode()
        for kind in KINDS.values():
            setattr(self, kind[0] + "s", [])
        while at < len(data):
            assert at % PAGE == 0
            magic, size = struct.unpack_from("=II", data, at)
            assert magic == 0x4b4e4843 and size % PAGE == 0 and size > 0, f"chunk at {at}: {magic:#x} {size}"
            self._read_chunk(data, at + 16, min(at + size, len(data)))
            at += size
        self.name_of = {n.id: n.text for n in self.names}
        self.function_of = {f.id: f for f in self.functions}
        self.launchs.sort(key=lambda launch: launch.number)

    def _read_chunk(self, data, at, end):
        while at + 8 <= end:
            size, kind, extra = struct.unpack_from("=IHH", data, at)
            if kind == 0:
                return
            assert size % 8 == 0 and 8 <= size <= end - at and extra < 8, (size, kind, extra)
            name, members, titles = KINDS[kind]
            values = struct.unpack_from("=" + members, data, at + 8)
            record = SimpleNamespace(**dict(zip(titles.split(), values)))
            rest = data[at + 8 + struct.calcsize("=" + members):at + size - extra]
            record.text = rest if name == "image" else rest.decode()
            getattr(self, name + "s").append(record)
            at += size

    def kernel(self, record):
        """The name of the kernel of a launch or node."""
        return self.name_of[self.function_of[record.function].name]

    def of_operation(self, operation):
        return [o for o in self.operations if o.operation == operation]
