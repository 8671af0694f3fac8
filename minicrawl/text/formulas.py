r"""Formulas of a page as TeX: what the page gives as TeX, or else MathML that is translated.

    <msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></msup>    {a+b}^{2}
    <mfrac><mn>1</mn><msqrt><mi>n</mi></msqrt></mfrac>                    \frac{1}{\sqrt{n}}

Letters and operators stay as they are written: TeX of today reads α and ≤.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

FORMULAS = frozenset(("math", "script"))
_DEEPEST = 50
_FORMS = {
    "mfrac": r"\frac{{{0}}}{{{1}}}",
    "mover": "{base}^{{{1}}}",
    "mroot": r"\sqrt[{1}]{{{0}}}",
    "msub": "{base}_{{{1}}}",
    "msubsup": "{base}_{{{1}}}^{{{2}}}",
    "msup": "{base}^{{{1}}}",
    "munder": "{base}_{{{1}}}",
    "munderover": "{base}_{{{1}}}^{{{2}}}",
}
"""TeX of elements by those inside. The first is the base, in braces if it has several letters."""
_AROUND = {
    "msqrt": (r"\sqrt{", "", "}"),
    "mtable": (r"\begin{matrix}", r" \\ ", r"\end{matrix}"),
    "mtr": ("", " & ", ""),
}
"""TeX before, between and after the elements inside."""
_AS_TEX = {ord(sign): f"\\{sign}" for sign in "#%&_{}"}
_AS_TEX |= dict.fromkeys(map(ord, "\u2061\u2062\u2063\u2064"), "")  # invisible times, say


def formula(node: LexborNode, tag: str) -> str | None:
    """Return the formula of an element, or None if that is a script of another kind."""
    if tag == "script":
        is_tex = (node.attributes.get("type") or "").startswith("math/tex")
        return " ".join(node.text().split()) if is_tex else None
    written = node.css_first("annotation[encoding='application/x-tex']")
    text = node.attributes.get("alttext") if written is None else written.text()
    return " ".join((text or _tex(node, 0)).split()) or None


def _tex(node: LexborNode, depth: int) -> str:
    inside = [child for child in node.iter() if child.tag != "-comment"]
    if not inside or depth >= _DEEPEST:
        return " ".join(node.text().translate(_AS_TEX).split())
    tag = node.tag or ""
    parts = [_tex(child, depth + 1) for child in inside[: 1 if tag == "semantics" else None]]
    form = _FORMS.get(tag)
    if form is not None and f"{{{len(parts) - 1}}}" in form:
        base = parts[0] if len(parts[0]) == 1 else f"{{{parts[0]}}}"
        return form.format(*parts, base=base)
    before, between, after = _AROUND.get(tag, ("", "", ""))
    return f"{before}{between.join(parts)}{after}"
