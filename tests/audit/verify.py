#!/usr/bin/env python3
"""Follows an export of Orion's audit, and exports of devices, and says whether they hold.

    verify.py AUDIT.jsonl [DEVICE.jsonl ...] [--key KEY] [--since OLDER.jsonl]
    verify.py AUDIT.jsonl [DEVICE.jsonl ...] [--key KEY] --edits COUNT [--seed N]

Written from docs/audit.md and the specifications that it names (RFC 6962, RFC 8032, FIPS 186-5, C2SP
signed-note and tlog-checkpoint) with nothing but Python's standard library, and apart from Orion's own verifier, so
that a mistake in one is no mistake in the other. With --edits it changes the files in memory, once each
time, and counts what it finds.
"""

import argparse
import base64
import functools
import hashlib
import json
import random
import sys

ZERO = "0" * 64


class Bad(Exception):
    """Something does not hold."""


def sha256(*parts):
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(part)
    return hasher.digest()


# --- Ed25519, RFC 8032, section 5.1 ------------------------------------------------------------------

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)


def point_add(a, b):
    """Points in extended coordinates (X, Y, Z, T)."""
    e = (a[1] - a[0]) * (b[1] - b[0]) % P
    f = (a[1] + a[0]) * (b[1] + b[0]) % P
    g = 2 * a[3] * b[3] * D % P
    h = 2 * a[2] * b[2] % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def point_multiply(scalar, point):
    result = (0, 1, 1, 0)
    while scalar > 0:
        if scalar & 1:
            result = point_add(result, point)
        point = point_add(point, point)
        scalar >>= 1
    return result


def point_decode(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P != 0:
        x = x * SQRT_M1 % P
    if (x * x - square) % P != 0 or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


BASE = point_decode((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


@functools.lru_cache(maxsize=256)
def ed25519(public, message, signature):
    if len(public) != 32 or len(signature) != 64:
        return False
    point, nonce = point_decode(public), point_decode(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if point is None or nonce is None or s >= L:
        return False
    challenge = hashlib.sha512(signature[:32] + public + message).digest()
    challenge = int.from_bytes(challenge, "little") % L
    left, right = point_multiply(s, BASE), point_add(nonce, point_multiply(challenge, point))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (
        left[1] * right[2] - right[1] * left[2]
    ) % P == 0


# --- ECDSA with P-256 and SHA-256, FIPS 186-5 and SP 800-186 ------------------------------------------

FIELD = 2**256 - 2**224 + 2**192 + 2**96 - 1
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
CURVE_B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
GENERATOR = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
# What stands before the point of a key in its DER form, RFC 5480.
P256_KEY = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")


def curve_double(a):
    """Points in Jacobian coordinates (X, Y, Z); Z is 0 at infinity."""
    x, y, z = a
    if z == 0 or y == 0:
        return (1, 1, 0)
    delta, gamma = z * z % FIELD, y * y % FIELD
    beta, alpha = x * gamma % FIELD, 3 * (x - delta) * (x + delta) % FIELD
    new = (alpha * alpha - 8 * beta) % FIELD
    return (
        new,
        (alpha * (4 * beta - new) - 8 * gamma * gamma) % FIELD,
        2 * y * z % FIELD,
    )


def curve_add(a, b):
    if a[2] == 0:
        return b
    if b[2] == 0:
        return a
    aa, bb = a[2] * a[2] % FIELD, b[2] * b[2] % FIELD
    u, v = a[0] * bb % FIELD, b[0] * aa % FIELD
    s, t = a[1] * b[2] * bb % FIELD, b[1] * a[2] * aa % FIELD
    h, r = (v - u) % FIELD, (t - s) % FIELD
    if h == 0:
        return curve_double(a) if r == 0 else (1, 1, 0)
    hh = h * h % FIELD
    hhh, v = h * hh % FIELD, u * hh % FIELD
    x = (r * r - hhh - 2 * v) % FIELD
    return (x, (r * (v - x) - s * hhh) % FIELD, a[2] * b[2] * h % FIELD)


def curve_sum(first, a, second, b):
    """first * a + second * b."""
    both, result = curve_add(a, b), (1, 1, 0)
    for bit in range(255, -1, -1):
        result = curve_double(result)
        one, other = first >> bit & 1, second >> bit & 1
        if one or other:
            result = curve_add(result, both if one and other else a if one else b)
    return result


def affine_x(point):
    return point[0] * pow(point[2] * point[2], -1, FIELD) % FIELD


@functools.lru_cache(maxsize=256)
def p256(key, message, signature):
    """Whether this key, DER, made this signature, two numbers of 32 bytes."""
    if key[:26] != P256_KEY or key[26:27] != b"\4" or len(key) != 91 or len(signature) != 64:
        return False
    x, y = int.from_bytes(key[27:59], "big"), int.from_bytes(key[59:], "big")
    if x >= FIELD or y >= FIELD or (y * y - x * x * x + 3 * x - CURVE_B) % FIELD != 0:
        return False
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    if not (0 < r < ORDER and 0 < s < ORDER):
        return False
    inverse = pow(s, -1, ORDER)
    digest = int.from_bytes(sha256(message), "big")
    point = curve_sum(digest * inverse % ORDER, (*GENERATOR, 1), r * inverse % ORDER, (x, y, 1))
    return point[2] != 0 and affine_x(point) % ORDER == r


def p256_sign(secret, message):
    """A key, DER, and a signature of it: what somebody makes who has not the device's key."""
    point = curve_sum(secret, (*GENERATOR, 1), 0, (1, 1, 0))
    inverse = pow(point[2], -1, FIELD)
    x, y = point[0] * inverse**2 % FIELD, point[1] * inverse**3 % FIELD
    key = P256_KEY + b"\4" + x.to_bytes(32, "big") + y.to_bytes(32, "big")
    digest = int.from_bytes(sha256(message), "big")
    nonce = int.from_bytes(sha256(secret.to_bytes(32, "big"), message), "big") % ORDER
    r = affine_x(curve_sum(nonce, (*GENERATOR, 1), 0, (1, 1, 0))) % ORDER
    s = pow(nonce, -1, ORDER) * (digest + r * secret) % ORDER
    return key, r.to_bytes(32, "big") + s.to_bytes(32, "big")


# --- The tree, RFC 6962, section 2.1 ------------------------------------------------------------------


class Tree:
    """A Merkle tree of which only the roots of whole subtrees are kept."""

    def __init__(self):
        self.size, self.stack = 0, []

    def push(self, data):
        node, size = sha256(b"\0", data), self.size
        while size % 2 == 1:
            node, size = sha256(b"\1", self.stack.pop(), node), size // 2
        self.stack.append(node)
        self.size += 1

    def root(self):
        if not self.stack:
            return sha256()
        node = self.stack[-1]
        for left in reversed(self.stack[:-1]):
            node = sha256(b"\1", left, node)
        return node


# --- Notes and keys, C2SP signed-note and tlog-checkpoint ---------------------------------------------


def unbase64(text):
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError as error:
        raise Bad("no base64") from error
    if base64.b64encode(data).decode() != text:
        raise Bad("base64 in another form")
    return data


class Key:
    """A key that verifies, read from `name+id+key`."""

    def __init__(self, text):
        parts = text.split("+", 2)
        if len(parts) != 3:
            raise Bad("no key")
        self.name, number, encoded = parts
        data = unbase64(encoded)
        if len(data) != 33 or data[0] != 1:
            raise Bad("no Ed25519 key")
        self.public = data[1:]
        self.number = sha256(self.name.encode() + b"\n" + data)[:4]
        if self.number.hex() != number:
            raise Bad("the key's number is not that of the key")
        if self.name != "orion-audit/" + sha256(self.public).hex()[:16]:
            raise Bad("the key's name is not that of the key")

    def open(self, note):
        """The lines of a note that this key signed."""
        at = note.rfind("\n\n")
        text, line = note[: at + 1], note[at + 2 :]
        if at < 0 or not line.endswith("\n") or line.count("\n") != 1:
            raise Bad("no signed note")
        words = line[:-1].split(" ")
        if len(words) != 3 or words[0] != "\u2014" or words[1] != self.name:
            raise Bad("no signature of this key")
        data = unbase64(words[2])
        if data[:4] != self.number or not ed25519(self.public, text.encode(), data[4:]):
            raise Bad("the signature does not fit")
        lines = text[:-1].split("\n")
        if len(lines) < 3 or lines[0] != self.name or lines[1] != str(number(lines[1])):
            raise Bad("no checkpoint of this key's tree")
        return int(lines[1]), unbase64(lines[2]), lines[3:]


def number(text):
    if not text.isascii() or not text.isdigit():
        raise Bad("no number")
    return int(text)


# --- Lines of JSON -------------------------------------------------------------------------------------


def dumps(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def parse(line, keys):
    """An object with exactly these keys, in this order."""
    try:
        value = json.loads(line, object_pairs_hook=list)
    except (ValueError, RecursionError) as error:
        raise Bad("no JSON") from error
    if not isinstance(value, list) or [pair[0] for pair in value] != keys.split():
        raise Bad("another object than belongs here")
    return dict(value)


def typed(value, kind):
    if type(value) is not kind:
        raise Bad("a value of another type than belongs here")
    return value


def digest(value):
    if len(typed(value, str)) != 64 or any(c not in "0123456789abcdef" for c in value):
        raise Bad("no digest")
    return bytes.fromhex(value)


def integer(value):
    if not -(2**63) <= typed(value, int) < 2**63:
        raise Bad("a number out of range")
    return value.to_bytes(8, "big", signed=True)


def text(value):
    try:
        return typed(value, str).encode()
    except UnicodeEncodeError as error:
        raise Bad("no text") from error


def fields(label, *values):
    """Each with its length before it, so that none can run into the next."""
    parts = []
    for value in (label.encode(), *values):
        parts += [len(value).to_bytes(8, "big"), value]
    return b"".join(parts)


def head_of(pairs):
    head = dict(pairs) if isinstance(pairs, list) else {}
    if list(head) != ["seq", "hash"]:
        raise Bad("no head")
    integer(head["seq"]), digest(head["hash"])
    return head["seq"], head["hash"]


# --- The backend's export ------------------------------------------------------------------------------


def canonical_row(row):
    return fields(
        "orion.audit.v1",
        integer(row["seq"]),
        integer(row["at"]),
        text(row["kind"]),
        text(row["call_id"]),
        text(row["body"]),
        digest(row["prev_hash"]),
    )


def verify_export(data, key=None):
    """Follows an export; gives its rows. `key` is what it must be signed with, if that is known."""
    if not data.endswith(b"\n"):
        raise Bad("cut: the last line has no end")
    lines = data[:-1].split(b"\n")
    first = dict(parse(lines[0], "export")["export"])
    if list(first) != ["format", "key", "head", "at"] or first["format"] != 1:
        raise Bad("line 1: not an export, or of another version")
    signer = Key(typed(first["key"], str))
    if key is not None and first["key"] != key:
        raise Bad("signed with another key than the one that is known")
    head, made_at = head_of(first["head"]), typed(first["at"], int)
    tree, rows, last = Tree(), [], (0, ZERO)
    for line in lines[1:-1]:
        if line.startswith(b'{"checkpoint":'):
            size, root, more = signer.open(typed(parse(line, "checkpoint")["checkpoint"], str))
            if size != tree.size or root != tree.root() or more:
                raise Bad(f"row {tree.size}: the signed checkpoint does not fit the rows")
            continue
        row = parse(line, "seq at kind call_id body prev_hash hash")
        canonical = canonical_row(row)
        if sha256(canonical).hex() != row["hash"]:
            raise Bad(f"row {row['seq']}: changed")
        if row["seq"] != last[0] + 1 or row["prev_hash"] != last[1]:
            raise Bad(f"row {row['seq']}: does not follow the row before it")
        last = (row["seq"], row["hash"])
        tree.push(canonical)
        rows.append(row)
    end = parse(lines[-1], "end")
    if dumps(end).encode() != lines[-1]:
        raise Bad("the last line has another form")
    size, root, more = signer.open(typed(end["end"], str))
    if last != head:
        raise Bad("the rows end elsewhere than the head says")
    if size != tree.size or root != tree.root():
        raise Bad("the end is about other rows")
    before = data[: len(data) - len(lines[-1]) - 1]
    if more != [f"export {sha256(before).hex()} {made_at}"]:
        raise Bad("the end is about another file")
    return rows


# --- The chains of devices -----------------------------------------------------------------------------

ENTRY = "seq at call_id tool arguments state code result backend prev_hash hash"


def entry_hash(device, entry):
    backend = head_of(entry["backend"])
    arguments = b"" if entry["arguments"] is None else digest(entry["arguments"])
    return sha256(
        fields(
            "orion.device-audit.v1",
            text(device),
            integer(entry["seq"]),
            integer(entry["at"]),
            text(entry["call_id"]),
            text(entry["tool"]),
            arguments,
            text(entry["state"]),
            text(entry["code"]),
            digest(entry["result"]),
            integer(backend[0]),
            digest(backend[1]),
            digest(entry["prev_hash"]),
        )
    ).hex()


def signed_message(before, made_at):
    """What a device signs of its export: all lines before the last, and when."""
    return fields("orion.device-audit-export.v1", sha256(before), integer(made_at))


def verify_device(data):
    """Follows a device's export; gives the device, the fingerprint of the key that signed, the head before
    the first entry, and the entries."""
    if not data.endswith(b"\n"):
        raise Bad("cut: the last line has no end")
    lines = data[:-1].split(b"\n")
    if len(lines) < 2:
        raise Bad("cut: the end is missing")
    for line in lines:
        try:
            if dumps(json.loads(line)).encode() != line:
                raise Bad("a line in another form")
        except (ValueError, RecursionError) as error:
            raise Bad("no JSON") from error
    first = dict(parse(lines[0], "device_chain")["device_chain"])
    if list(first) != ["format", "device", "from"] or typed(first["format"], int) != 1:
        raise Bad("line 1: not the chain of a device, or of another version")
    device, start = first["device"], head_of(first["from"])
    if start[0] < 0:
        raise Bad("line 1: a chain begins at its beginning or behind an entry")
    last, entries = start, []
    for line in lines[1:-1]:
        entry = parse(line, ENTRY)
        if entry_hash(device, entry) != entry["hash"]:
            raise Bad(f"entry {entry['seq']}: changed")
        if entry["seq"] != last[0] + 1 or entry["prev_hash"] != last[1]:
            raise Bad(f"entry {entry['seq']}: does not follow the entry before it")
        last = (entry["seq"], entry["hash"])
        entry["backend"] = head_of(entry["backend"])
        entries.append(entry)
    end = dict(parse(lines[-1], "end")["end"])
    if list(end) != ["head", "at", "key", "signature"]:
        raise Bad("the last line is not the end of a device's export")
    if head_of(end["head"]) != last:
        raise Bad("the device's chain ends elsewhere than its end says")
    key, signature = unbase64(typed(end["key"], str)), unbase64(typed(end["signature"], str))
    before = data[: len(data) - len(lines[-1]) - 1]
    if not p256(key, signed_message(before, typed(end["at"], int)), signature):
        raise Bad("the signature of the device's export does not fit")
    return device, sha256(key).hex(), start, entries


def join(rows, chains):
    """Compares both sides; gives how many calls are the same on both."""
    hashes = {row["seq"]: row["hash"] for row in rows}
    known = {device: (start, entries) for device, _, start, entries in chains}
    keys = {device: key for device, key, _, _ in chains}
    if len(known) != len(chains):
        raise Bad("one device twice")
    opened, told, closed, forgotten = {}, {}, set(), set()
    for row in rows:
        if row["kind"] == "device.enrolled":
            body = json.loads(row["body"])
            # An id is given once.
            key = keys.pop(body["device_id"], None)
            if key is not None and key != body["public_key_fingerprint"]:
                raise Bad(f"row {row['seq']}: the device enrolled with another key than signed its export")
        if row["kind"] not in ("call.opened", "call.closed", "call.reconciled", "call.late_result"):
            continue
        body = json.loads(row["body"])
        call = row["call_id"]
        if row["kind"] == "call.opened":
            if body.get("device_id") in known:
                opened[call] = body
            continue
        if call not in opened:
            continue
        closed.add(call)
        device, effects = opened[call]["device_id"], opened[call].get("has_effects", False)
        start, entries = known[device]
        witness = body.get("witness")
        if witness is None:
            if effects and body["state"] == "succeeded":
                raise Bad(f"row {row['seq']}: a call succeeded without its device's word")
            continue
        first = start[0]
        seq, number_of = witness["seq"], witness["entry"]
        if body["state"] == "unknown" and number_of == 0:
            forgotten.add(call)
        if seq > first:
            if seq - first > len(entries) or entries[seq - first - 1]["hash"] != witness["hash"]:
                raise Bad(f"row {row['seq']}: the device's chain is another than was seen")
        elif seq == first and witness["hash"] != start[1]:
            raise Bad(f"row {row['seq']}: the device's chain begins elsewhere than was seen")
        if number_of == 0:
            if effects and body["state"] == "succeeded":
                raise Bad(f"row {row['seq']}: a call with effects is not in the device's chain")
            continue
        # One entry may have been told of twice: as it is, and as what is not known any more.
        before = told.get((device, number_of))
        if before is None or before["state"] == "unknown":
            told[(device, number_of)] = body
        elif body["state"] != "unknown" and any(
            body[what] != before[what] for what in ("state", "result_digest")
        ):
            raise Bad(f"row {row['seq']}: another end of an entry than before")
        if number_of > first:
            at = number_of - first - 1
            if at >= len(entries) or entries[at]["call_id"] != call:
                raise Bad(f"row {row['seq']}: the device's chain does not say so")
    if keys:
        raise Bad("a device that never enrolled")
    same = 0
    for device, _, _, entries in chains:
        last = {entry["call_id"]: entry["seq"] for entry in entries}
        most = max((number_of for of, number_of in told if of == device), default=0)
        ended = set()
        for entry in entries:
            if entry["call_id"] in ended:
                raise Bad(f"entry {entry['seq']}: the call had ended before")
            if entry["state"] != "unknown":
                ended.add(entry["call_id"])
            seen, seen_hash = entry["backend"]
            if (seen, seen_hash) != (0, ZERO) and hashes.get(seen) != seen_hash:
                raise Bad(f"entry {entry['seq']}: the device saw another row {seen}")
            body = opened.get(entry["call_id"])
            if body is None or body["device_id"] != device:
                raise Bad(f"entry {entry['seq']}: the backend knows no such call there")
            if entry["arguments"] is not None and entry["arguments"] != body["arguments_digest"]:
                raise Bad(f"entry {entry['seq']}: other arguments")
            end = told.get((device, entry["seq"]))
            lost = entry["call_id"] in forgotten if end is None else end["state"] == "unknown"
            if (
                lost
                and entry["state"] != "unknown"
                and last[entry["call_id"]] == entry["seq"]
            ):
                continue
            if end is not None:
                if (end["state"], end["result_digest"]) != (entry["state"], entry["result"]):
                    raise Bad(f"entry {entry['seq']}: another end")
                same += 1
            elif (
                last[entry["call_id"]] == entry["seq"]
                and entry["call_id"] in closed
                and entry["seq"] <= most
            ):
                raise Bad(f"entry {entry['seq']}: its end is not at the backend")
    return same


def verify(export, devices, key=None, older=None):
    """Everything; gives the number of rows and of calls that are the same on both sides."""
    try:
        rows = verify_export(export, key)
        if older is not None:
            same_key = json.loads(export.split(b"\n")[0])["export"]["key"]
            before = verify_export(older, same_key)
            if rows[: len(before)] != before:
                raise Bad("it does not go on from the older export")
        return len(rows), join(rows, [verify_device(device) for device in devices])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise Bad(f"a value of another form than belongs there: {error}") from error


# --- Edits ---------------------------------------------------------------------------------------------


def relink(lines):
    """Makes the rows a chain again, and the header fit: what somebody without the key can do."""
    seq, prev, out = 0, ZERO, []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            out.append(line)
            continue
        if isinstance(row, dict) and "body" in row:
            seq += 1
            row["seq"], row["prev_hash"] = seq, prev
            row["hash"] = prev = sha256(canonical_row(row)).hex()
            line = dumps(row).encode()
        out.append(line)
    header = json.loads(out[0])
    header["export"]["head"] = {"seq": seq, "hash": prev}
    out[0] = dumps(header).encode()
    return out


def relink_device(lines, chance, begins_at=None):
    """The same for a device's export: ended as it was, or signed by somebody who is not the device."""
    first = json.loads(lines[0])["device_chain"]
    if begins_at is not None:
        first["from"] = begins_at
    head = first["from"]
    out = [dumps({"device_chain": first}).encode()]
    for line in lines[1:-1]:
        entry = json.loads(line)
        entry["seq"], entry["prev_hash"] = head["seq"] + 1, head["hash"]
        entry["hash"] = entry_hash(first["device"], entry)
        head = {"seq": entry["seq"], "hash": entry["hash"]}
        out.append(dumps(entry).encode())
    end = json.loads(lines[-1])["end"]
    end["head"] = head
    if chance.random() < 0.5:
        before = b"".join(line + b"\n" for line in out)
        key, signature = p256_sign(4711, signed_message(before, end["at"]))
        end["key"] = base64.b64encode(key).decode()
        end["signature"] = base64.b64encode(signature).decode()
    out.append(dumps({"end": end}).encode())
    return out


def edit(chance, data, is_device):
    """One change, and what kind it was."""
    lines = data[:-1].split(b"\n")
    inner = range(1, len(lines) - 1)
    kind = chance.choice(
        ["byte", "byte", "insert byte", "delete byte", "delete", "insert", "swap", "cut", "cut lines"]
        + ["edit and relink", "delete and relink", "insert and relink", "swap and relink"]
        + ["cut and relink", "begin later and relink"]
    )
    begins_at = None
    if kind == "byte":
        at = chance.randrange(len(data))
        new = chance.choice([data[at] ^ (1 << chance.randrange(8)), chance.randrange(256)])
        return kind, data[:at] + bytes([new]) + data[at + 1 :]
    if kind == "insert byte":
        at = chance.randrange(len(data) + 1)
        return kind, data[:at] + bytes([chance.choice(b' \n0a"')]) + data[at:]
    if kind == "delete byte":
        at = chance.randrange(len(data))
        return kind, data[:at] + data[at + 1 :]
    if kind == "cut":
        return kind, data[: chance.randrange(len(data))]
    if kind == "cut lines":
        return kind, b"".join(line + b"\n" for line in lines[: chance.randrange(len(lines))])
    at, other = chance.choice(inner), chance.choice(inner)
    if kind.startswith("delete"):
        del lines[at]
    elif kind.startswith("insert"):
        lines.insert(at, lines[other])
    elif kind.startswith("swap"):
        lines[at], lines[other] = lines[other], lines[at]
    elif kind.startswith("cut"):
        lines = lines[: at + 1] + lines[-1:]
    elif kind.startswith("begin"):
        if is_device:
            last = json.loads(lines[at])
            begins_at = {"seq": last["seq"], "hash": last["hash"]}
        lines = lines[:1] + lines[at + 1 :]
    else:
        value = json.loads(lines[at])
        field = chance.choice(sorted(value))
        if isinstance(value[field], str) and value[field]:
            where = chance.randrange(len(value[field]))
            new = chance.choice("0123456789abcdef")
            value[field] = value[field][:where] + new + value[field][where + 1 :]
        elif isinstance(value[field], int):
            value[field] += chance.choice([-1, 1])
        lines[at] = dumps(value).encode()
    if kind.endswith("relink"):
        try:
            lines = relink_device(lines, chance, begins_at) if is_device else relink(lines)
        except (Bad, KeyError, TypeError, ValueError):
            pass
    return kind, b"".join(line + b"\n" for line in lines)


def edits(count, seed, export, devices, key):
    """Tries that many edits; gives how many of each kind there were, and those that were not found."""
    chance, tally, missed = random.Random(seed), {}, []
    files = [export, *devices]
    while sum(tally.values()) < count:
        which = chance.randrange(len(files)) if chance.random() < 0.5 else 0
        kind, changed = edit(chance, files[which], which > 0)
        if changed == files[which]:
            continue
        kind = ("device: " if which else "") + kind
        tally[kind] = tally.get(kind, 0) + 1
        tried = files[:which] + [changed] + files[which + 1 :]
        try:
            verify(tried[0], tried[1:], key)
            missed.append((kind, which, changed))
        except Bad:
            pass
    return tally, missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--key")
    parser.add_argument("--since", metavar="OLDER")
    parser.add_argument("--edits", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    export, *devices = [open(name, "rb").read() for name in arguments.files]
    try:
        older = open(arguments.since, "rb").read() if arguments.since else None
        rows, same = verify(export, devices, arguments.key, older)
    except Bad as problem:
        print(f"broken: {problem}")
        return 1
    print(f"whole: {rows} rows, {same} calls the same on both sides")
    if arguments.edits:
        tally, missed = edits(arguments.edits, arguments.seed, export, devices, arguments.key)
        for kind in sorted(tally):
            print(f"{tally[kind]:>8}  {kind}")
        found = sum(tally.values()) - len(missed)
        print(f"found {found} of {sum(tally.values())} edits")
        for kind, which, _ in missed[:5]:
            print(f"not found: {kind} of file {which}")
        return 1 if missed else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
