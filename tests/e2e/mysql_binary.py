# SPDX-License-Identifier: MIT
"""The binary protocol of MySQL over a connection of PyMySQL's, which has none: statements that are
prepared, values, rows, cursors. Rows come as they are written in text."""
import struct

from pymysql.constants import COMMAND

CURSOR_EXISTS = 0x40
FIXED = {1: "<b", 2: "<h", 13: "<H", 3: "<i", 9: "<i", 8: "<q", 4: "<f", 5: "<d"}


def lenenc(data, at):
    first = data[at]
    if first < 0xfb:
        return first, at + 1
    size = {0xfc: 2, 0xfd: 3, 0xfe: 8}[first]
    return int.from_bytes(data[at + 1:at + 1 + size], "little"), at + 1 + size


def value_of(kind, data, at):
    if kind in FIXED:
        size = struct.calcsize(FIXED[kind])
        return struct.unpack_from(FIXED[kind], data, at)[0], at + size
    length, at = lenenc(data, at)
    return data[at:at + length], at + length


def row_of(columns, data):
    nulls = data[1:1 + (len(columns) + 9) // 8]
    at = 1 + len(nulls)
    row = []
    for i, column in enumerate(columns):
        if nulls[(i + 2) // 8] >> ((i + 2) % 8) & 1:
            row.append(None)
            continue
        value, at = value_of(column.type_code, data, at)
        row.append(value)
    assert at == len(data), (columns, data)
    return row


class Prepared:
    """statement -> all rows of all its results."""

    def __init__(self, conn):
        self.conn = conn

    def prepare(self, statement):
        self.conn._execute_command(COMMAND.COM_STMT_PREPARE, statement)
        head = self.conn._read_packet().get_all_data()
        number, columns, parameters = struct.unpack_from("<IHH", head, 1)
        for count in (parameters, columns):
            for _ in range(count):
                self.conn._read_packet()
            if count:
                self.conn._read_packet()
        return number

    def execute(self, number, flags=0):
        self.conn._execute_command(COMMAND.COM_STMT_EXECUTE, struct.pack("<IBI", number, flags, 1))

    def columns(self, count):
        from pymysql.protocol import FieldDescriptorPacket
        found = [self.conn._read_packet(FieldDescriptorPacket) for _ in range(count)]
        return found, self.conn._read_packet().get_all_data()

    def rows(self, columns):
        rows = []
        while True:
            packet = self.conn._read_packet()
            if packet.is_eof_packet():
                return rows, packet
            rows.append(row_of(columns, packet.get_all_data()))

    def results(self):
        rows = []
        while True:
            packet = self.conn._read_packet()
            if packet.is_ok_packet():
                data = packet.get_all_data()
                _, at = lenenc(data, 1)
                _, at = lenenc(data, at)
                status = struct.unpack_from("<H", data, at)[0]
            else:
                columns, end = self.columns(packet.read_length_encoded_integer())
                if struct.unpack_from("<H", end, 3)[0] & CURSOR_EXISTS:
                    return columns
                more, packet = self.rows(columns)
                rows += more
                status = struct.unpack_from("<H", packet.get_all_data(), 3)[0]
            if not status & 8:
                return rows

    def run(self, statement):
        number = self.prepare(statement)
        try:
            self.execute(number)
            return self.results()
        finally:
            self.close(number)

    def close(self, number):
        self.conn._execute_command(COMMAND.COM_STMT_CLOSE, struct.pack("<I", number))

    def fetched(self, statement, count=1):
        """By a cursor, so many rows at a time."""
        number = self.prepare(statement)
        self.execute(number, 1)
        columns = self.results()
        rows = []
        while True:
            self.conn._execute_command(COMMAND.COM_STMT_FETCH, struct.pack("<II", number, count))
            more, packet = self.rows(columns)
            rows += more
            if struct.unpack_from("<H", packet.get_all_data(), 3)[0] & 0x80:
                return rows
