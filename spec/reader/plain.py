# SPDX-License-Identifier: Apache-2.0
"""Times, characters and names, without YAML."""

import re
import unicodedata
from datetime import datetime, timezone
from functools import lru_cache


def millis(text):  # VAULT-35
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z", text, re.ASCII):
        return None
    year = int(text[:4])
    # Python's calendar begins with the year 1; 400 years have the same number of days always.
    shift = 400 if year == 0 else 0
    try:
        day = datetime.fromisoformat(f"{year + shift:04}{text[4:19]}").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    since = day - datetime(1970, 1, 1, tzinfo=timezone.utc)
    whole = since.days * 86_400 + since.seconds - shift // 400 * 146_097 * 86_400
    return whole * 1000 + int(text[20:23] if len(text) == 24 else 0)


INVISIBLE = [  # VAULT-11
    (0xA0, 0xA0), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x1680, 0x1680),
    (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F),
    (0x2800, 0x2800), (0x3000, 0x3000), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x13441, 0x13442), (0x16FE4, 0x16FE4),
    (0x1BCA0, 0x1BCA3), (0x1D159, 0x1D159), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
]  # fmt: skip


@lru_cache(1 << 16)
def is_invisible(char):
    return any(first <= ord(char) <= last for first, last in INVISIBLE)


def has_control(text):
    return any(unicodedata.category(char) == "Cc" for char in text)


def is_principal(text):  # VAULT-34
    is_odd = ":" in text or has_control(text) or any(map(is_invisible, text))
    return text == text.strip() and 0 < len(text.encode()) <= 256 and not is_odd
