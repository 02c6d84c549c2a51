# SPDX-License-Identifier: MIT
"""Writes libpdl as two files: pdl.h, which holds the headers and the implementation, and pdl.c.

single.py --root DIR --out DIR --version X.Y.Z --public HEADER... --sources FILE...

The sources become one translation unit, and in the header-only mode it is the user's. So whatever a source has for
itself gets the source's name in front (`ask` of device.c becomes `pdl_device_ask_`), and what sources share gets
internal linkage. C++ keywords that are names in C get an underscore. Otherwise the text is that of the sources.
"""

import argparse
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)
      | (?P<directive>(?:(?<=\n)|\A)[ \t]*\#(?:/\*.*?\*/|\\\n|[^\n/]|/(?!\*))*)
      | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<name>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
      | (?P<space>\s+)
      | (?P<mark>->|.)""", re.S | re.X)
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
DEFINE = re.compile(r"\s*#\s*define\s+(\w+)")
CXX_KEYWORDS = set("""and and_eq asm bitand bitor catch class compl const_cast delete dynamic_cast explicit export friend
    mutable namespace new not not_eq operator or or_eq private protected public reinterpret_cast static_cast template
    this throw try typeid typename using virtual xor xor_eq""".split())
TAGS = ("struct", "union", "enum")
# What has parentheses and is not the name of a function.
NOT_FUNCTIONS = {"__attribute__", "_Atomic", "_Alignas", "_Static_assert", "__extension__", "__declspec",
                 "PDL_PRINTF"}
# Public headers that include one of these are only there for programs that have it anyway, or that ask.
OPTIONAL = {"cuda_runtime_api.h": "PDL_SINGLE_CUDART_", "cuda.h": "PDL_SINGLE_CUDA_"}


def die(text):
    sys.exit("single.py: " + text)


class Token:
    __slots__ = ("kind", "text")

    def __init__(self, kind, text):
        self.kind = kind
        self.text = text


def lex(text):
    return [Token(m.lastgroup, m.group()) for m in TOKEN.finditer(text)]


def unlex(tokens):
    return "".join(token.text for token in tokens)


def drop(token):
    token.kind = "space"
    token.text = ""


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return re.sub(r"\A/\* SPDX-License-Identifier: MIT \*/\n", "", file.read())


def code(tokens):
    """The indices of what the compiler sees, directives apart."""
    return [i for i, token in enumerate(tokens) if token.kind not in ("comment", "directive", "space")]


def without_guard(tokens, path):
    """Takes the include guard off a header: its two directives in front and the last one."""
    directives = [i for i, token in enumerate(tokens) if token.kind == "directive"]
    guard = re.match(r"\s*#ifndef (\w+)$", tokens[directives[0]].text) if len(directives) > 2 else None
    if not guard or DEFINE.match(tokens[directives[1]].text).group(1) != guard.group(1):
        die(f"{path} does not begin with an include guard")
    for i in (directives[0], directives[1], directives[-1]):
        drop(tokens[i])
    return tokens


def declarations(tokens):
    """Splits what is at the top level: lists of indices, each a declaration or a definition."""
    depth = 0
    current = []
    for i in code(tokens):
        text = tokens[i].text
        current.append(i)
        if text in "({[":
            depth += 1
        elif text in ")}]":
            depth -= 1
        # A body ends a function; behind other braces a declarator or a semicolon follows.
        if depth == 0 and (text == ";" or (text == "}" and is_function(tokens, current))):
            yield current
            current = []


def flat(tokens, part):
    """What is outside of parentheses, braces, brackets and attributes: (index, text, text of the next one)."""
    depth = 0
    skip = False
    for at, i in enumerate(part):
        text = tokens[i].text
        following = tokens[part[at + 1]].text if at + 1 < len(part) else ""
        if depth == 0 and text in NOT_FUNCTIONS:
            skip = True
        elif depth == 0 and not (skip and text == "("):
            yield i, text, following
        if text in "({[":
            depth += 1
        elif text in ")}]":
            depth -= 1
            skip = skip and depth > 0


def bare(name):
    return name if isinstance(name, str) else name[1]


def function_name(tokens, part):
    for i, text, following in flat(tokens, part):
        if text in ("=", "typedef"):
            return None
        if tokens[i].kind == "name" and following == "(":
            at = part.index(i)
            inner = [tokens[k].text for k in part[at + 1:at + 5]]
            if len(inner) == 4 and inner[0] == "(" and inner[2:] == [")", "("]:
                return inner[1]  # type(name)(...), where `name` is a macro, too
            return text
    return None


def is_function(tokens, part):
    return function_name(tokens, part) is not None


def names_of(tokens, part):
    """What a declaration at the top level declares: (name, whether it is an object or a function)."""
    texts = [tokens[i].text for i in part]
    if texts[0] == "_Static_assert":
        return
    for at, text in enumerate(texts[:-2]):
        if text in TAGS and texts[at + 2] in "{;" and tokens[part[at + 1]].kind == "name":
            yield (text, texts[at + 1]), False
    for at, text in enumerate(texts):
        if text == "enum":
            opened = texts.index("{", at) if "{" in texts[at:at + 3] else None
            depth = 0
            for k in range(opened or len(texts), len(texts)):
                if depth == 1 and texts[k - 1] in "{," and tokens[part[k]].kind == "name":
                    yield texts[k], False
                depth += (texts[k] in "({") - (texts[k] in ")}")
                if depth == 0:
                    break
    function = function_name(tokens, part)
    if function:
        yield function, True
        return
    outside = list(flat(tokens, part))
    if texts[0] == "typedef":
        pointer = [texts[k + 1] for k in range(len(texts) - 3) if texts[k] == "*" and texts[k + 2:k + 4] == [")", "("]]
        yield (pointer or [text for i, text, _ in outside if tokens[i].kind == "name"])[-1], False
        return
    for i, text, following in outside:
        if tokens[i].kind == "name" and following in ("=", "[", ";", ",") and text != "}":
            before = texts[part.index(i) - 1] if part.index(i) > 0 else ""
            if before not in TAGS:
                yield text, True
        if text == "=":
            return


def members(tokens):
    """The indices of names that declare members of structs and unions."""
    found = set()
    stack = []
    seen = code(tokens)
    for at, i in enumerate(seen):
        text = tokens[i].text
        before = [tokens[k].text for k in seen[max(0, at - 2):at]]
        if text == "{":
            stack.append(any(word in TAGS[:2] for word in before))
        elif text == "}":
            stack.pop()
        elif stack and stack[-1] and tokens[i].kind == "name" and at + 1 < len(seen):
            previous = tokens[seen[at - 1]]
            declares = previous.text == "*" or (previous.kind == "name" and previous.text not in TAGS)
            if declares and tokens[seen[at + 1]].text in (";", "[", ",", ":"):
                found.add(i)
    return found


def rename(tokens, new):
    """Gives names their new ones, in directives too, but neither to members nor in text. Those of ("struct", NAME) are
    of tags."""
    keep = members(tokens)
    previous = ""
    for i, token in enumerate(tokens):
        if token.kind == "name" and previous in TAGS:
            token.text = new.get((previous, token.text), token.text)
        elif token.kind == "name" and token.text in new and previous not in (".", "->") and i not in keep:
            token.text = new[token.text]
        elif token.kind == "directive" and not INCLUDE.match(token.text):
            inner = lex(token.text.replace("#", "\x01"))
            before = ""
            for part in inner:
                if part.kind == "name" and before in TAGS:
                    part.text = new.get((before, part.text), part.text)
                elif part.kind == "name" and part.text in new and before not in (".", "->", "\x01"):
                    part.text = new[part.text]
                if part.kind not in ("space", "comment"):
                    before = part.text if part.text != "\x01" else before
            token.text = unlex(inner).replace("\x01", "#")
        if token.kind not in ("space", "comment"):
            previous = token.text


def for_cxx(tokens):
    """Writes what C++ wants: `_Atomic(int)` for `_Atomic int`, the cast of `struct node *node = data;` where `data` is a
    void pointer, and another way to pass `&(struct node){0}` to a function."""
    seen = code(tokens)
    for i, following in zip(seen, seen[1:]):
        if tokens[i].text == "_Atomic" and tokens[following].kind == "name":
            tokens[following].text = f"({tokens[following].text})"
    for part in declarations(tokens):
        texts = [tokens[i].text for i in part]
        for at, text in enumerate(texts):
            if text == "&" and texts[at - 1] in "(," and texts[at + 1:at + 3] == ["(", "struct"] and texts[at + 4:at + 6] == [")", "{"]:
                end = at + 6
                depth = 1
                while depth > 0:
                    depth += (texts[end] == "{") - (texts[end] == "}")
                    end += 1
                tokens[part[at]].text = "PDL_SINGLE_ADDRESS_("
                tokens[part[end - 1]].text = "})"
        voids = {name for at, name in enumerate(texts) if texts[at - 2:at] == ["void", "*"] and tokens[part[at]].kind == "name"}
        start = 0
        for at, text in enumerate(texts):
            if text in ("{", "}", ";", ")"):
                start = at + 1
            elif text == "=" and at - start >= 3 and (
                    (texts[at + 1] in voids and texts[at + 2] == ";") or
                    re.match(r"\( (const )?void \* \)", " ".join(texts[at + 1:at + 6]))):
                kind = range(start, at - 1)
                if "*" in texts[start:at - 1] and all(texts[k] == "*" or tokens[part[k]].kind == "name" for k in kind):
                    given = unlex(tokens[part[start]:part[at - 1]]).strip()
                    tokens[part[at + 1]].text = f"({given}){texts[at + 1]}"
    return lex(unlex(tokens))


class Single:
    def __init__(self, arguments):
        self.root = arguments.root
        self.public_headers = arguments.public
        self.sources = arguments.sources
        self.done = set()
        self.system = set()
        self.deferred = []  # of the public headers: what would hide warnings about the rest
        self.objects = set()  # that sources share
        self.functions = set()
        self.owners = {}

    # ---- the public part

    def public(self, path):
        """A public header with those that it includes in front."""
        if path in self.done:
            return ""
        self.done.add(path)
        tokens = lex(read(self.root, "include/" + path))
        conditions = []
        front = ""
        guard = None
        for token in tokens:
            if token.kind != "directive":
                continue
            word = re.match(r"\s*#\s*(\w+)", token.text).group(1)
            if word.startswith("if"):
                conditions.append(token.text)
            elif word in ("else", "elif"):
                conditions[-1] = None
            elif word == "endif":
                conditions.pop()
            include = INCLUDE.match(token.text)
            if include and include.group(2).startswith("pdl/"):
                inner = include.group(2)
                if "system_header" in read(self.root, "include/" + inner):
                    if None in conditions:
                        die(f"{path} includes {inner} in a condition that this script does not follow")
                    if inner not in self.done:
                        self.done.add(inner)
                        self.deferred.append((inner, conditions[1:]))
                    token.text = f"/* {inner}: see the end of the public part */"
                else:
                    if len(conditions) > 1:
                        die(f"{path} includes {inner} in a condition")
                    front += self.public(inner)
                    drop(token)
            elif include and include.group(2) in OPTIONAL:
                guard = OPTIONAL[include.group(2)]
        text = banner("include/" + path) + tidy(unlex(tokens))
        if path.endswith(".cuh"):
            guard = "PDL_SINGLE_DEVICE_"
        if guard:
            text = f"#if {guard}\n{text}#endif /* {guard} */\n\n"
        return front + text

    def public_part(self):
        host = [header for header in self.public_headers if not header.endswith(".cuh")]

        def rank(path):  # first what needs nothing, last what hides warnings about the rest
            text = read(self.root, "include/" + path)
            return "system_header" in text, any(f"<{name}>" in text for name in OPTIONAL), path

        host.sort(key=rank)
        text = "#ifndef __CUDACC_RTC__\n\n" + "".join(self.public(header) for header in host)
        for path, conditions in self.deferred:
            text += "".join(condition + "\n" for condition in conditions)
            text += banner("include/" + path)
            text += tidy(re.sub(r"#if defined\(__GNUC__\)\n#pragma GCC system_header\n#endif\n", "",
                                read(self.root, "include/" + path)))
            text += "#endif\n" * len(conditions) + "\n"
        text += "#endif /* __CUDACC_RTC__ */\n\n"
        return text + "".join(self.public(header) for header in self.public_headers if header.endswith(".cuh"))

    # ---- the implementation

    def includes(self, tokens, path):
        """Takes the includes out of a source. Returns the text of the private headers among them."""
        front = ""
        depth = 0
        for token in tokens:
            if token.kind != "directive":
                continue
            word = re.match(r"\s*#\s*(\w+)", token.text).group(1)
            depth += word.startswith("if") - (word == "endif")
            include = INCLUDE.match(token.text)
            if not include:
                continue
            kind, name = include.groups()
            if depth > 0:
                die(f"{path} includes {name} in a condition, and all includes come first here")
            if kind == '"':
                front += self.private(name)
            elif name.startswith("pdl/"):
                if name not in self.done:
                    die(f"{path} includes {name}, which is not a header of the core")
            else:
                self.system.add(name)
            drop(token)
        return front

    def private(self, path):
        if path in self.done:
            return ""
        self.done.add(path)
        tokens = without_guard(lex(read(self.root, "lib/" + path)), path)
        front = self.includes(tokens, path)
        for part in declarations(tokens):
            words = [tokens[i].text for i in part]
            for name, linked in names_of(tokens, part):
                if not bare(name).lower().startswith(("pdl_", "pfn_cu")):  # the latter is what old headers of CUDA lack
                    die(f"lib/{path} declares {bare(name)}: what sources share begins with pdl_")
                if linked and words[0] == "extern":
                    self.objects.add(name)
                    tokens[part[0]].text = "PDL_SINGLE_EXTERN_"
                    tokens[part[-1]].text = "; PDL_SINGLE_END_"
                elif linked and "static" not in words[:words.index(name)]:
                    self.functions.add(name)
                    tokens[part[0]].text = "static " + tokens[part[0]].text
        tokens = for_cxx(tokens)
        rename(tokens, {word: word + "_" for word in CXX_KEYWORDS})
        return front + banner("lib/" + path) + tidy(unlex(tokens))

    def own_names(self, tokens, path):
        """What a source has for itself. What it defines for others gets internal linkage here."""
        own = set()
        for token in tokens:
            if token.kind == "directive" and DEFINE.match(token.text):
                own.add(DEFINE.match(token.text).group(1))
        undefined = {word for token in tokens if token.kind == "directive"
                     for word in re.findall(r"#\s*undef\s+(\w+)", token.text)}
        for part in declarations(tokens):
            words = [tokens[i].text for i in part]
            for name, linked in names_of(tokens, part):
                if linked and name in self.objects:
                    tokens[part[0]].text = "PDL_SINGLE_BEGIN_ " + tokens[part[0]].text
                    tokens[part[-1]].text = "; PDL_SINGLE_END_"
                elif linked and name in self.functions:
                    tokens[part[0]].text = "static " + tokens[part[0]].text
                elif not linked or "static" in words[:words.index(name)]:
                    own.add(name)
        for name in sorted(own - undefined, key=str):
            if bare(name).startswith(("pdl_", "PDL_")):
                if name in self.owners:
                    die(f"lib/{path} and lib/{self.owners[name]} both have a {bare(name)} of their own: rename one of them")
                self.owners[name] = path
        return {name for name in own if not bare(name).startswith(("pdl_", "PDL_"))}

    def implementation(self):
        stems = [os.path.splitext(os.path.basename(path))[0] for path in self.sources]
        texts = []
        new_names = {}
        for path, stem in zip(self.sources, stems):
            tokens = lex(read(self.root, "lib/" + path))
            front = self.includes(tokens, path)
            if stems.count(stem) > 1:
                stem = path.split("/")[0] + "_" + stem
            new = {word: word + "_" for word in CXX_KEYWORDS}
            for name in sorted(self.own_names(tokens, path), key=str):
                given = bare(name)
                prefix, inner = ("PDL_" + stem.upper(), "INNER_") if given == given.upper() else ("pdl_" + stem, "inner_")
                # Two underscores in a row are C++'s.
                new[name] = f"{prefix}_{given.rstrip('_')}_{inner if given != given.rstrip('_') else ''}"
                other = new_names.setdefault(new[name], (path, given))
                if other != (path, given):
                    die(f"{given} of lib/{path} and {other[1]} of lib/{other[0]} would both become {new[name]}: "
                        "rename one of them")
            tokens = for_cxx(tokens)
            rename(tokens, new)
            texts.append(front + banner("lib/" + path) + tidy(unlex(tokens)))
        for path in sorted(set(self.sources) | {path for path in self.done if not path.startswith("pdl/")}):
            for name in set(re.findall(r"\w+", read(self.root, "lib/" + path))) & set(new_names):
                die(f"{new_names[name][1]} of lib/{new_names[name][0]} would become {name}, which lib/{path} uses")
        return "".join(texts)


def banner(path):
    return f"/* ======== {path} {'=' * max(8, 84 - len(path))} */\n\n"


def tidy(text):
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--public", nargs="+", required=True)
    parser.add_argument("--sources", nargs="+", required=True)
    arguments = parser.parse_args()
    single = Single(arguments)

    def part(name):
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            return file.read().replace("@VERSION@", arguments.version)

    with open(os.path.join(arguments.root, "LICENSE"), encoding="utf-8") as file:
        license_text = "".join((" * " + line).rstrip() + "\n" for line in file.read().rstrip().split("\n"))
    public = single.public_part()
    implementation = single.implementation()
    begin = read(HERE, "begin.h")
    shadowed = sorted(set(re.findall(r"^#define ([a-z_A-Z]\w*)", begin[begin.index("@PUSH@"):], re.M)))
    push = "".join(f'#pragma push_macro("{name}")\n#undef {name}\n' for name in shadowed)
    pop = "".join(f'#undef {name}\n#pragma pop_macro("{name}")\n' for name in shadowed)
    system = "".join(f"#include <{name}>\n" for name in sorted(single.system - {"stdatomic.h"}))
    files = {
        "pdl.h": part("top.h").replace("@LICENSE@\n", license_text) + public +
                 begin.replace("@INCLUDES@\n", system).replace("@PUSH@\n", push) + implementation +
                 read(HERE, "end.h").replace("@POP@\n", pop),
        "pdl.c": part("pdl.c.in"),
    }
    os.makedirs(arguments.out, exist_ok=True)
    for name, text in files.items():
        path = os.path.join(arguments.out, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8", newline="") as file:
                if file.read() == text:
                    continue  # so that its time stays
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)


if __name__ == "__main__":
    main()
