"""Data become text on the page here, and never anything else.

Labels come from files of strangers. Those written into HTML pass through `text`; those read by the page's script pass
through `json_block`, and the script hands them to ``textContent`` alone.
"""

from __future__ import annotations

import html
import json
from typing import Any

# Inside <script>, HTML ends at "</script" and changes its rules at "<!--"; both begin with "<".
_INERT = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def text(value: Any) -> str:
    """Return a value as text for HTML, inside an element or a quoted attribute.

    Examples
    --------
    >>> text('<b> & "c"')
    '&lt;b&gt; &amp; &quot;c&quot;'
    """
    # Half a surrogate pair, which comes from files in another encoding, cannot be written as UTF-8.
    return html.escape(str(value).encode("utf-8", "replace").decode("utf-8"), quote=True)


def json_block(value: Any) -> str:
    r"""Return JSON that is inert inside a ``<script type="application/json">`` element.

    Examples
    --------
    >>> json_block({"label": "</script>"})
    '{"label":"\\u003c/script\\u003e"}'
    """
    plain = json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return plain.translate(_INERT)
