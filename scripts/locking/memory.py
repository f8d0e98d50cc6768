"""Looks for byte strings in the memory of a process."""

import collections
import os
import re

PIECE = 16 << 20


def search(pid, needles):
    """Where the memory of a process has byte strings. `needles` are pairs of a kind and bytes. Returns for each kind how often it was
    found in which part of the memory, and what is
    around each."""
    overlap = max(len(needle) for _, needle in needles) - 1
    found, hits = {kind: collections.Counter() for kind, _ in needles}, []
    stacks = stack_pointers(pid)
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for begin, end, name in mappings(pid):
            place = part(begin, end, name, stacks)
            for address, piece in pieces(memory, begin, end, overlap):
                for kind, needle in needles:
                    # A hit in what the last piece has shown already is no new one.
                    skipped = overlap + 1 - len(needle) if address > begin else 0
                    at = piece.find(needle, max(skipped, 0))
                    while at >= 0:
                        found[kind][place] += 1
                        hits.append(f"{text(piece[max(at - 16, 0):at])}[{kind}]{text(piece[at + len(needle):at + len(needle) + 16])}")
                        at = piece.find(needle, at + 1)
    return found, hits


def text(content):
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in content)


def mappings(pid):
    """The beginning, the end and the name of each readable part."""
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)", line.rstrip("\n"))
            if match[3].startswith("r") and match[4] not in ("[vvar]", "[vvar_vclock]", "[vsyscall]"):
                yield int(match[1], 16), int(match[2], 16), match[4]


def pieces(memory, begin, end, overlap):
    """The content of a mapping in pieces that overlap, with the address of each. What can't be read is left out."""
    tail = b""
    for address in range(begin, end, PIECE):
        try:
            memory.seek(address)
            content = memory.read(min(PIECE, end - address))
        except (OSError, ValueError, OverflowError):
            tail = b""
            continue
        yield address - len(tail), tail + content
        tail = content[-overlap:] if overlap else b""


def stack_pointers(pid):
    """The stack pointers of the threads that wait in a system call."""
    pointers = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/syscall") as file:
                fields = file.read().split()
        except OSError:
            continue
        if len(fields) >= 3:
            pointers.append(int(fields[-2], 16))
    return pointers


def part(begin, end, name, stacks):
    if name.startswith("[heap") or name.startswith("[stack"):
        return name.strip("[]")
    if name.startswith("/"):
        return name.rpartition("/")[2]
    return "a thread's stack" if any(begin <= pointer < end for pointer in stacks) else name.strip("[]") or "other memory"
