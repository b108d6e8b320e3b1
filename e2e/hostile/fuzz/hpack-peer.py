"""Reads HPACK blocks, and makes some of its own, with the hpack package. Input and output: JSON of hexadecimal texts."""

import json
import sys

import hpack


def read(blocks):
    reader, seen = hpack.Decoder(max_header_list_size=2**30), []
    for block in blocks:
        try:
            fields = reader.decode(bytes.fromhex(block), raw=True)
        except hpack.HPACKError:
            return [*seen, None]
        seen.append([[field[0].hex(), field[1].hex()] for field in fields])
    return seen


def write(lists):
    writer, blocks = hpack.Encoder(), []
    for number, (size, fields) in enumerate(lists):
        writer.header_table_size = size
        pairs = [(bytes.fromhex(name), bytes.fromhex(value), (len(value) + number) % 5 == 0) for name, value in fields]
        blocks.append(writer.encode(pairs, huffman=number % 2 == 0).hex())
    return blocks


cases = json.load(sys.stdin)
json.dump([{"read": read(case["blocks"]), "written": write(case["lists"])} for case in cases], sys.stdout)
