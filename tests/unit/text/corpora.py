"""Texts for tests: real ones, and some in other scripts and conditions."""

from __future__ import annotations

import pyarrow.parquet as pq

from tests.data import corpus_file

STRANGE = (
    "",
    " \n\t",
    "Don't PANIC: Peter's well-known U-boat, 1943; l'été, aujourd’hui, O'Brien, they'd've, rock'n'roll ''quoted'' 'tis",
    "n't isn't' isn't's can't2 x't dann't’s n'n't boston's't",
    "snake_case CamelCase 3d 42nd 1996 ½ x² a b",
    "Die Straße führt über Größenordnungen. ÄÖÜ ẞ",
    "Ο ΟΔΥΣΣΕΥΣ ταξίδεψε δέκα χρόνια· Ο Σίσυφος όχι.",
    "İSTANBUL ve Iğdır, ılık bir İlkbahar; Türkiye'de",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "كُلُّ شَيْءٍ عَلَى مَا يُرَام ١٩٩٦",
    "हिन्दी में लिखा हुआ क्षत्रिय पाठ १२३",
    "می‌خواهم کتاب‌ها را بخوانم",
    "我们相信这个文件会被阅读。中 文abc中文def カタカナとひらがな々ー〇 한국어 텍스트",
    "ภาษาไทยไม่เว้นวรรค",
    "emoji 👩‍👩‍👧 1️⃣ 🇩🇪 👍🏽heart❤️end \ufe0f\u0301 start",
    "nul\x00in\x00side \x00",
    "lone \ud800surrogates\udfff here \udc80",
    "x" * 40 + " " + "y" * 41 + " " + "é" * 40 + " " + "ż" * 41 + " " + "z" * 100_000,
    "cafe\u0301 café soft\xadhyphen soft\xad hyphen",
    "\U0001d4d0\U0001d4d1 \U00020000\U00020001 \U0010fffd \U000e0101",
    "end'",
    "end’",
    "end’s",
    "’",
    "'s",
)


def texts(folder: str, count: int) -> list[str]:
    table = pq.read_table(corpus_file(f"{folder}/docs.parquet"), columns=["text"])
    return [text or "" for text in table.column("text").slice(0, count).to_pylist()]
