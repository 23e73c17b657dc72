"""Texts to trees, macros included. Called by `program.py` when a policy or a definition is written or learned.

What is nested is bounded, because evaluating a tree goes as deep as the tree is.
"""

from __future__ import annotations

from fairlead.model.cel import syntax
from fairlead.model.cel.errors import ExpressionError
from fairlead.model.cel.lexer import END, IDENT, INT_MAX, LITERAL, PUNCTUATION, Token, tokens_of
from fairlead.model.cel.macros import expand
from fairlead.model.cel.syntax import SyntaxNode

#: bound: policies | expressions, one in another (brackets, arguments) | 422
EXPRESSION_DEPTH_MAX = 40
#: bound: policies | operators and fields of an expression, one in another | 422
TREE_DEPTH_MAX = 100

_RESERVED = frozenset(
    {
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "in", "let", "loop", "namespace",
        "package", "return", "var", "void", "while",
    }
)  # fmt: skip
_CONSTANTS = {"true": True, "false": False, "null": None}
_BINDS = {
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!=", "in"), 1),
    **dict.fromkeys(("+", "-"), 2),
    **dict.fromkeys(("*", "/", "%"), 3),
}


def parse(text: str) -> SyntaxNode:
    """Raises ExpressionError, with the place."""
    parser = _Parser(text)
    tree = parser.expression()
    parser.expect(END)
    if syntax.depth_of(tree) > TREE_DEPTH_MAX:
        raise ExpressionError(
            f"has more than {TREE_DEPTH_MAX} operators one in another; use variables for its parts"
        )
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.at = 0
        self.depth = 0

    @property
    def now(self) -> Token:
        return self.tokens[self.at]

    def fail(self, why: str, token: Token | None = None) -> ExpressionError:
        return ExpressionError(why, self.text, (token or self.now).offset)

    def take(self) -> Token:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def sees(self, text: str) -> bool:
        return self.now.sort == PUNCTUATION and self.now.text == text

    def takes(self, text: str) -> bool:
        if self.sees(text):
            self.at += 1
            return True
        return False

    def expect(self, what: str) -> Token:
        token = self.now
        if token.sort == what or (token.sort == PUNCTUATION and token.text == what):
            self.at += 1 if token.sort != END else 0
            return token
        wanted = (
            "the end of the expression" if what == END else f"'{what}'" if len(what) < 3 else f"an {what}"
        )
        raise self.fail(f"Syntax error: '{token.text}' where {wanted} is expected")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > EXPRESSION_DEPTH_MAX:
            raise self.fail(
                f"is nested deeper than {EXPRESSION_DEPTH_MAX} levels; use variables for its parts"
            )

    def expression(self) -> SyntaxNode:
        self.deeper()
        test = self.any_of()
        if self.takes("?"):
            then = self.any_of()
            self.expect(":")
            otherwise = self.expression()
            test = syntax.Conditional(test.offset, test, then, otherwise)
        self.depth -= 1
        return test

    def any_of(self) -> SyntaxNode:
        parts = [self.all_of()]
        while self.takes("||"):
            parts.append(self.all_of())
        return parts[0] if len(parts) == 1 else syntax.AnyOf(parts[0].offset, tuple(parts))

    def all_of(self) -> SyntaxNode:
        parts = [self.binary(1)]
        while self.takes("&&"):
            parts.append(self.binary(1))
        return parts[0] if len(parts) == 1 else syntax.AllOf(parts[0].offset, tuple(parts))

    def binary(self, least: int) -> SyntaxNode:
        """Operators that bind at least so tightly, the tighter ones first."""
        left = self.unary()
        while self.now.sort in (PUNCTUATION, IDENT) and (binds := _BINDS.get(self.now.text, 0)) >= least:
            operator = self.take()
            left = syntax.Binary(operator.offset, operator.text, left, self.binary(binds + 1))
        return left

    def unary(self) -> SyntaxNode:
        token = self.now
        if token.sort == PUNCTUATION and token.text in ("!", "-"):
            self.at += 1
            self.deeper()
            after = self.now
            if token.text == "-" and after.sort == LITERAL and type(after.value) in (int, float):
                self.at += 1
                inner = self.members(syntax.Literal(token.offset, -after.value))
            else:
                inner = syntax.Unary(token.offset, token.text, self.unary())
            self.depth -= 1
            return inner
        return self.members(self.primary())

    def members(self, node: SyntaxNode) -> SyntaxNode:
        while True:
            token = self.now
            if self.takes("."):
                optional = self.takes("?")
                name = self.take()
                if name.sort not in (IDENT, "quoted") or name.text in ("in", *_CONSTANTS):
                    raise self.fail(f"Syntax error: '{name.text}' is no name of a field", name)
                if not optional and name.sort == IDENT and self.takes("("):
                    node = expand(self.text, token.offset, name.text, node, self.until(")"))
                else:
                    node = syntax.Select(token.offset, node, unescaped(name), optional)
            elif self.takes("["):
                optional = self.takes("?")
                node = syntax.IndexAccess(token.offset, node, self.expression(), optional)
                self.expect("]")
            elif self.sees("{") and (name_of := _dotted(node)):
                self.at += 1
                node = self.struct(token.offset, name_of)
            else:
                return node

    def primary(self) -> SyntaxNode:
        token = self.take()
        if token.sort == LITERAL:
            if type(token.value) is int and token.value > INT_MAX:
                raise self.fail("invalid int literal", token)
            return syntax.Literal(token.offset, token.value)
        if token.sort == IDENT:
            if token.text in _CONSTANTS:
                return syntax.Literal(token.offset, _CONSTANTS[token.text])
            if token.text in _RESERVED:
                raise self.fail(f"reserved identifier: {token.text}", token)
            if self.takes("("):
                return expand(self.text, token.offset, token.text, None, self.until(")"))
            return syntax.Ident(token.offset, token.text)
        if token.sort == PUNCTUATION:
            if token.text == "(":
                inner = self.expression()
                self.expect(")")
                return inner
            if token.text == "[":
                return self.list(token.offset)
            if token.text == "{":
                return self.map(token.offset)
            if token.text == "." and self.now.sort == IDENT:
                return self.primary()
        raise self.fail(f"Syntax error: mismatched input '{token.text}'", token)

    def until(self, closing: str) -> tuple[SyntaxNode, ...]:
        found: list[SyntaxNode] = []
        while not self.takes(closing):
            if found:
                self.expect(",")
            found.append(self.expression())
        return tuple(found)

    def list(self, offset: int) -> SyntaxNode:
        found: list[SyntaxNode] = []
        optional: set[int] = set()
        while self._goes_on("]", first=not found):
            if self.takes("?"):
                optional.add(len(found))
            found.append(self.expression())
        return syntax.ListLiteral(offset, tuple(found), frozenset(optional))

    def _goes_on(self, end: str, *, first: bool) -> bool:
        """Whether another element follows. Elements are parted by commas; one may stand before the end."""
        if self.takes(end):
            return False
        if not first:
            self.expect(",")
            return not self.takes(end)
        return True

    def map(self, offset: int) -> SyntaxNode:
        found: list[syntax.MapEntry] = []
        while self._goes_on("}", first=not found):
            optional = self.takes("?")
            key = self.expression()
            self.expect(":")
            found.append(syntax.MapEntry(key, self.expression(), optional))
        return syntax.MapLiteral(offset, tuple(found))

    def struct(self, offset: int, name: str) -> SyntaxNode:
        found: list[syntax.FieldOf] = []
        while self._goes_on("}", first=not found):
            optional = self.takes("?")
            field = self.take()
            if field.sort not in (IDENT, "quoted"):
                raise self.fail(f"Syntax error: '{field.text}' is no name of a field", field)
            self.expect(":")
            found.append(syntax.FieldOf(unescaped(field), self.expression(), optional))
        return syntax.Struct(offset, name, tuple(found))


def _dotted(node: SyntaxNode) -> str:
    """The name of a type, where the node may be one."""
    if isinstance(node, syntax.Ident):
        return node.name
    if isinstance(node, syntax.Select) and not node.optional:
        before = _dotted(node.operand)
        return f"{before}.{node.field}" if before else ""
    return ""


_ESCAPED = (("__dot__", "."), ("__dash__", "-"), ("__slash__", "/"), ("__underscores__", "__"))


def unescaped(token: Token) -> str:
    """The field that a name stands for: what is no name in CEL is written with underscores, as Kubernetes does."""
    name = token.text
    if token.sort != IDENT or "__" not in name:
        return name
    inner = name[2:-2]
    if name.startswith("__") and name.endswith("__") and (inner in _RESERVED or inner in _CONSTANTS):
        return inner
    out, at = [], 0
    while at < len(name):
        for written, meant in _ESCAPED:
            if name.startswith(written, at):
                out.append(meant)
                at += len(written)
                break
        else:
            out.append(name[at])
            at += 1
    return "".join(out)
