import json

import pytest

from nearer.report.escaping import json_block, text

BAD = [
    "</script>",
    "<!--",
    "]]>",
    "a\u2028b\u2029c",
    '"><img onerror=alert(1)>',
    "&amp;",
    "\x00",
    "\udcff",
    "'",
    "日本",
]


@pytest.mark.parametrize("label", BAD)
def test_json_block_holds_the_label_and_nothing_that_html_or_javascript_reads(label):
    block = json_block({label: [label]})
    assert json.loads(block) == {label: [label]}
    assert not set("<>&\u2028\u2029\x00") & set(block)
    assert block.isascii()


@pytest.mark.parametrize("label", BAD)
def test_text_has_no_markup_and_can_be_written(label):
    written = text(label)
    assert not set("<>\"'") & set(written)
    written.encode("utf-8")


def test_a_value_that_json_does_not_know_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_block([float("nan")])
