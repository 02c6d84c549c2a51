# SPDX-License-Identifier: MIT
"""PTX texts for proof.py: what their kernels take, and small changes to them."""

import re

# What produce() in chains.cu fills a buffer with, by the type that the kernel's parameter points to.
CONTENTS = {
    "f32": ("float", "float2", "float3", "float4"),
    "f64": ("double", "double2"),
    "f16": ("__half", "__half2"),
    "bf16": ("__nv_bfloat16", "__nv_bfloat162"),
    "i32": ("int", "int2", "int4", "unsigned int", "uint2", "uint4"),
    "i8": ("bool", "char", "signed char", "unsigned char", "short", "unsigned short", "uchar4"),
    "i64": ("long", "unsigned long", "long long", "unsigned long long"),
}
BUILT_IN = ("malloc", "free", "vprintf", "__assertfail")  # ptxas and the driver know these
STAMPS = 1024  # as in chains.cu
# Code by which a kernel may wait for what does not come, or fault. hazards() adds what is not a pattern.
HAZARDS = {
    "barrier": r"\b(?:bar|barrier)(?:\.cta)?\.(?:arrive|red)|\b(?:bar|barrier)(?:\.cta)?\.sync(?:\.aligned)?\s+(?!\s|0\s*;)",
    "warp": r"\bbar\.warp\.sync|\belect\.sync",
    "cluster": r"\bbarrier\.cluster|\bmapa\.|%is_explicit_cluster|\.reqnctapercluster",
    "mbarrier": r"\bmbarrier\.",
    "copy": r"\.async\.bulk\.(?!prefetch)|\bmultimem\.|tensormap",
    "texture": r"\b(?:tex|tld4|suld|sust|sured)\.",
    "trap": r"\b(?:trap|brkpt)\s*;|__assertfail",
    "heap": r"\b(?:malloc|free)\b",
    "call": r"\.callprototype",
}
POLLS = r"\.(?:volatile|acquire|relaxed|mmio)\b|\batom\.|%clock|%globaltimer|\bnanosleep|_wait\."
LIMIT_NS = 2000000000  # after which a loop gives up
VARIABLE = r"^\.global\s+\.align\s+\d+\s+\.(?:u32|s32|f32|b32|b8)\s+([\w$]+)(?:\[(\d+)\])?;"


class Param:
    """A parameter: its PTX type, size and alignment, and what C++ calls its type, if known."""

    def __init__(self, declaration, spelled):
        match = re.match(r"(?:\.align (\d+) )?\.(\w)(\d+)[^\[]*(?:\[(\d+)\])?", declaration)
        align, kind, bits, count = match.groups()
        self.size = int(bits) // 8 * int(count or 1)
        self.align = int(align or self.size)
        self.is_array, self.is_float, self.spelled = count is not None, kind == "f", spelled

    def is_function(self):
        return self.spelled is not None and "(*" in self.spelled

    def is_pointer(self):
        return not self.is_array and self.size == 8 and (self.spelled is None or self.spelled.endswith("*"))

    def content(self):
        """What it points to; None: unknown."""
        if self.spelled is None:
            return None
        pointee = re.sub(r"\b(const|volatile|__restrict__)\b", "", self.spelled[:-1]).strip()
        pointee = re.sub(r"\s+", " ", pointee).replace(" *", "*")
        if pointee.endswith("*"):
            return "ptr"
        return next((content for content, types in CONTENTS.items() if pointee in types), None)


class Kernel:
    def __init__(self, name, head, body):
        self.name, self.head, self.body = name, head, body
        declared = re.search(r"\(([^)]*)\)", head)
        self.declared = re.findall(r"\.param\s+([^,)]+)", declared.group(1)) if declared else []
        self.params = [Param(text, None) for text in self.declared]
        cluster = re.search(r"\.reqnctapercluster\s+(\d+)", head)
        self.cluster = int(cluster.group(1)) if cluster else 1
        self.uses_blocks = "ctaid" in body or "%is_explicit_cluster" in body or self.cluster > 1
        self.spelled = name

    def set_signature(self, demangled):
        """Takes the types of the parameters from the demangled name, which extern "C" names lack."""
        self.spelled = demangled
        types = argument_types(demangled)
        if types is not None and len(types) == len(self.params):
            self.params = [Param(text, spelled) for text, spelled in zip(self.declared, types)]

    def fields(self, index):
        """[(offset, size, is_float)] that the kernel reads of a struct; None if it computes an offset."""
        name = re.escape("%s_param_%d" % (self.name, index))
        found = set()
        for match in re.finditer(r"ld\.param(?:\.v(\d))?\.(\w)(\d+)\s+[^\[]*\[%s(?:\+(\d+))?\]" % name, self.body):
            count, kind, bits, offset = match.groups()
            for i in range(int(count or 1)):
                size = int(bits) // 8
                found.add((int(offset or 0) + i * size, size, kind == "f"))
        taken = len(re.findall(name + r"\b", self.body))
        read = len(re.findall(r"\[%s(?:\+\d+)?\]" % name, self.body))
        return sorted(found) if taken == read else None

    def constants(self):
        """{(parameter, offset)} of the pointers that a marker calls constant."""
        found = set()
        for register in re.findall(r"mov\.b64 pdl_constant, (%\w+)", self.body):
            load = r"ld\.param\.[ub]64\s+%s,\s*\[%s_param_(\d+)(?:\+(\d+))?\]"
            for index, offset in re.findall(load % (re.escape(register), re.escape(self.name)), self.body):
                found.add((int(index), int(offset or 0)))
        return found

    def hazards(self, functions):
        """Names of what may make it hang or fault, for the functions of its file as functions_of() returns them."""
        code, left = self.head + self.body, [self.name]
        recursion, reached = False, set()
        while left:
            caller = left.pop()
            text = self.body if caller == self.name else functions[caller]
            named = {name for name in re.findall(r"[\w$]+", text) if name in functions}
            recursion = recursion or caller in named
            code += "".join(functions[name] for name in named - reached)
            left += named - reached
            reached |= named
        found = {name for name, pattern in HAZARDS.items() if re.search(pattern, code)}
        if any(re.search(POLLS, loop) for loop in loops(code)):
            found.add("poll")
        if recursion:
            found.add("recursion")
        if any(p.is_function() or (p.is_pointer() and p.content() in (None, "ptr")) for p in self.params):
            found.add("untyped")
        return found

    def marks(self):
        return self.body.count("mov.b64 pdl_constant")


def argument_types(demangled):
    """The types in the last pair of parentheses; None if there is none."""
    if not demangled.endswith(")"):
        return None
    depth, begin, types = 0, len(demangled) - 1, []
    while begin >= 0:
        depth += {")": 1, "(": -1}.get(demangled[begin], 0)
        if depth == 0:
            break
        begin -= 1
    depth, current = 0, ""
    for char in demangled[begin + 1 : -1]:
        depth += {"(": 1, "<": 1, "[": 1, ")": -1, ">": -1, "]": -1}.get(char, 0)
        if char == "," and depth == 0:
            types.append(current.strip())
            current = ""
        else:
            current += char
    return types + [current.strip()] if current.strip() else types


def entries(text, pattern=r"^[^\n/]*\.entry\s+([\w$]+)"):
    """(name, offset of the head, offset of the body's brace, offset behind the body) of each kernel."""
    found = []
    for match in re.finditer(pattern, text, flags=re.M):
        at = begin = text.find("{", match.end())
        if begin < 0 or ";" in text[match.end() : begin]:
            continue  # a declaration
        depth = 0
        while True:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
            if depth == 0:
                break
        found.append((match.group(1), match.end(), begin, at))
    return found


def kernels(text):
    return [Kernel(name, text[head:begin], text[begin:end]) for name, head, begin, end in entries(text)]


def functions_of(text):
    """{name: body} of the functions that are no kernels."""
    found = entries(text, r"^[^\n/]*\.func\s*(?:\([^)]*\)\s*)?([\w$]+)")
    return {name: text[begin:end] for name, _, begin, end in found}


# A jump, and its target if it has one: through a table it may go anywhere.
JUMP = re.compile(r"(?:@!?%?[\w$]+\s+)?\b(?:bra(?:\.uni)?\s+([\w$]+)|brx\.idx[^;]*)\s*;")


def target_before(match):
    """Where in the code the last label in front of a jump ends to which it goes; None if there is none."""
    if match.group(1) is None:
        return 0
    labels = re.finditer(r"(?<![\w$])%s\s*:" % re.escape(match.group(1)), match.string[: match.start()])
    return max((label.end() for label in labels), default=None)


def loops(code):
    """The code from a label to a jump back to it. One too many where two blocks have the same label."""
    jumps = [(target_before(jump), jump) for jump in JUMP.finditer(code)]
    return [code[begin : jump.end()] for begin, jump in jumps if begin is not None and jump.group(1)]


BEGIN = "\n.reg .b64 %pdlbegin; mov.u64 %pdlbegin, %globaltimer;\n"
BOUND = """{ .reg .pred %%pdlq; .reg .b64 %%pdlt; mov.u64 %%pdlt, %%globaltimer; sub.u64 %%pdlt, %%pdlt, %%pdlbegin;
setp.gt.u64 %%pdlq, %%pdlt, %d; @%%pdlq exit; }
""" % LIMIT_NS


def with_bounds(text):
    """A thread ends at a jump back if its function began two seconds ago: no loop holds the device."""

    def bounded(match):
        return match.group(0) if target_before(match) is None else BOUND + match.group(0)

    found = entries(text, r"^[^\n/]*\.(?:entry|func)\s*(?:\([^)]*\)\s*)?([\w$]+)")
    for _, _, begin, end in reversed(found):
        text = text[: begin + 1] + BEGIN + JUMP.sub(bounded, text[begin + 1 : end]) + text[end:]
    return text


def without_pdl(text):
    """The text without waits and triggers, whatever predicate they have."""
    return re.sub(r"(?:@!?%?[\w$]+\s+)?griddepcontrol\.(?:wait|launch_dependents)\s*;", "", text)


def without_markers(text):
    return re.sub(r"mov\.b64 pdl_constant, %\w+;", "", text)


def variables(text):
    """Names of the variables without a value, which a kernel may read and write."""
    return [name for name, size in re.findall(VARIABLE, text, flags=re.M) if size == "" or int(size) >= 4]


def with_visible_variables(text):
    """Variables that the host can ask for."""
    return re.sub(VARIABLE, lambda match: ".visible " + match.group(0), text, flags=re.M)


def with_functions(text):
    """Defines the functions that the text only declares: they do nothing, and return 1."""

    def define(match):
        if match.group(2) in BUILT_IN:
            return match.group(0)
        returned = re.search(r"\.param\s+\.\w(\d+)\s+([\w$]+)", match.group(1) or "")
        value = ""
        if returned:
            one = "0f3F800000" if returned.group(1) == "32" else "1"
            kind = "f32" if returned.group(1) == "32" else "b" + returned.group(1)
            value = "st.param.%s [%s], %s; " % (kind, returned.group(2), one)
        return ".func %s %s %s { %sret; }" % (match.group(1) or "", match.group(2), match.group(3) or "()", value)

    return re.sub(r"\.extern\s+\.func\s*(\([^)]*\))?\s*([\w$]+)\s*(\([^)]*\))?\s*;", define, text)


def with_code(text, code):
    """The text with code at the start of each kernel; N in it is the kernel's number."""
    found = entries(text)
    for number, (_, _, begin, _) in reversed(list(enumerate(found))):
        text = text[: begin + 1] + "\n" + code.replace("<N>", str(number)) + text[begin + 1 :]
    return text


# Lets the warps start up to 8 microseconds apart, half of them at once.
JITTER = """{ .reg .pred %pdlq; .reg .b32 %pdla, %pdlb, %pdlc;
mov.u32 %pdla, %tid.x; shr.u32 %pdla, %pdla, 5; mov.u32 %pdlb, %ctaid.x; mov.u32 %pdlc, %clock;
shl.b32 %pdlb, %pdlb, 8; add.u32 %pdla, %pdla, %pdlb; mul.lo.u32 %pdla, %pdla, 0x9E3779B1;
shr.u32 %pdlc, %pdlc, 5; mad.lo.u32 %pdla, %pdlc, 0x85EBCA6B, %pdla; shr.u32 %pdlb, %pdla, 15;
xor.b32 %pdla, %pdla, %pdlb; mul.lo.u32 %pdla, %pdla, 0xC2B2AE35;
shr.u32 %pdla, %pdla, 16; and.b32 %pdlb, %pdla, 0x1000;
setp.ne.u32 %pdlq, %pdlb, 0; and.b32 %pdla, %pdla, 0xFFF;
@%pdlq bra $PDLT<N>; nanosleep.u32 %pdla;
$PDLT<N>: bar.warp.sync 0xFFFFFFFF; }
"""

# The first thread of the first block notes the time.
STAMP = """{ .reg .pred %pdlq; .reg .b32 %pdla, %pdlb; .reg .b64 %pdlt, %pdls, %pdlo;
mov.u32 %pdla, %tid.x; mov.u32 %pdlb, %ctaid.x; or.b32 %pdla, %pdla, %pdlb; setp.ne.u32 %pdlq, %pdla, 0;
@%pdlq bra $PDLT<N>; mov.u64 %pdlt, %globaltimer;
atom.global.add.u32 %pdla, [pdl_test_stamp_count], 1; and.b32 %pdla, %pdla, <MASK>;
mov.u64 %pdls, pdl_test_stamps; mul.wide.u32 %pdlo, %pdla, 8; add.u64 %pdls, %pdls, %pdlo; st.global.u64 [%pdls], %pdlt;
$PDLT<N>: }
"""
STAMP_VARIABLES = """
.visible .global .align 8 .u64 pdl_test_stamps[%d];
.visible .global .align 4 .u32 pdl_test_stamp_count;
""" % STAMPS


def with_jitter(text):
    return with_code(text, JITTER)


def with_stamps(text):
    """Kernels note when they start, in front of everything else."""
    text = with_code(text, STAMP.replace("<MASK>", str(STAMPS - 1)))
    return re.sub(r"(\.address_size\s+64\n)", lambda match: match.group(1) + STAMP_VARIABLES, text, count=1)
