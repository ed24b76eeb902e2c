"""An evaluator of pseudo-code (isakit.docsgen.pseudocode), with rules of its own."""

import re


class Bits(int):
    """A number that knows its width, for the syntax of pseudo-code."""

    def __new__(cls, value, width=32):
        made = super().__new__(cls, value & (1 << width) - 1)
        made.width = width
        return made


def signed(x):
    width = getattr(x, "width", 32)
    return int(x) - (1 << width) if int(x) >> (width - 1) & 1 else int(x)


def signed_to(x, width):
    return Bits(signed(x), width)


class Tree:
    """A parser by precedence for the expressions of pseudo-code."""

    TOKEN = re.compile(r"\s*(0x[0-9a-f]+|\d+|\$?[a-z]\w*|<<|>>|==|<s|[-+*&^|<~?:,()\[\]{}])")
    STRENGTH = {"|": 2, "^": 3, "&": 4, "<<": 5, ">>": 5, "+": 6, "-": 6, "*": 7, "==": 1, "<": 1, "<s": 1}

    def __init__(self, text, names):
        self.tokens = [*self.TOKEN.findall(text), ""]
        assert "".join(self.tokens) == text.replace(" ", ""), text
        self.names, self.at = names, 0

    def take(self, wanted=None):
        token = self.tokens[self.at]
        assert wanted is None or token == wanted, (wanted, token)
        self.at += 1
        return token

    def value(self):
        v = self.choice()
        assert self.tokens[self.at] == ""
        return v

    def choice(self):
        condition = self.infix(1)
        if self.tokens[self.at] != "?":
            return condition
        self.take("?")
        a = self.choice()
        self.take(":")
        b = self.choice()
        return a if condition else b

    def infix(self, least):
        left = self.unary()
        while self.STRENGTH.get(self.tokens[self.at], 0) >= least:
            sign = self.take()
            right = self.infix(self.STRENGTH[sign] + 1)
            left = self.combined(sign, left, right)
        return left

    def combined(self, sign, a, b):
        width = max(getattr(a, "width", 0), getattr(b, "width", 0)) if sign not in ("<<", ">>") else a.width
        match sign:
            case "==":
                return Bits(int(a) == int(b), 1)
            case "<":
                return Bits(int(a) < int(b), 1)
            case "<s":
                return Bits(signed(Bits(a, width)) < signed(Bits(b, width)), 1)
            case "<<":
                return Bits(int(a) << int(b), width) if int(b) < width else Bits(0, width)
            case ">>":
                return Bits(int(a) >> int(b), width) if int(b) < width else Bits(0, width)
        python = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "&": int.__and__, "|": int.__or__,
                  "^": int.__xor__}[sign]  # fmt: skip
        return Bits(python(int(a), int(b)), width)

    def unary(self):
        token = self.tokens[self.at]
        if token == "~":
            self.take()
            v = self.unary()
            return Bits(~v, v.width)
        if token == "not":
            self.take()
            return Bits(not self.unary(), 1)
        v = self.atom()
        while self.tokens[self.at] == "[":
            self.take("[")
            high = int(self.take(), 0)
            low = high
            if self.tokens[self.at] == ":":
                self.take(":")
                low = int(self.take(), 0)
            self.take("]")
            v = Bits(int(v) >> low, high - low + 1)
        return v

    def atom(self):
        token = self.take()
        if token == "(":
            v = self.choice()
            self.take(")")
            return v
        if token[0].isdigit():
            return Bits(int(token, 0), 32 if int(token, 0) < 1 << 32 else 64)
        name = token.replace("$", "")
        if self.tokens[self.at] == "(":
            self.take("(")
            args = [self.choice()]
            while self.tokens[self.at] == ",":
                self.take(",")
                args.append(self.choice())
            self.take(")")
            return self.names[name](*args)
        return self.names[name]
