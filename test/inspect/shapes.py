# SPDX-License-Identifier: MIT
"""PTX texts of a given number of one thing each, for the tests of how time grows."""

HEAD = ".version 8.7\n.target sm_90\n.address_size 64\n"
KERNEL = (
    ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n"
    "ld.param.u64 %ra, [a];\ncvta.to.global.u64 %ra, %ra;\nld.param.u32 %n, [n];\nmov.u32 %t, %tid.x;\n"
    "setp.eq.u32 %p, %t, 0;\n"
)
READ = "ld.global.u32 %r1, [%ra];\n"
WAIT = "griddepcontrol.wait;\n"
END = "ret;\n}\n"
# A function that reads through its parameter and calls another with it.
CALLER = (
    ".func f{0}(.param .b64 x)\n{{\nld.param.u64 %rd1, [x];\nld.global.u32 %r1, [%rd1+{2}];\n.param .b64 q;\n"
    "st.param.b64 [q], %rd1;\ncall f{1}, (q);\nret;\n}}\n"
)
CALL = ".param .b64 q;\nst.param.b64 [q], %ra;\ncall f{0}, (q);\n"


def labels(count):
    """Blocks that lead to one another in no order."""
    body = "".join(f"L{i}:\nadd.u32 %r1, %r1, 1;\n@%p bra L{i * 7919 % count};\n" for i in range(count))
    return HEAD + KERNEL + body + WAIT + READ + END


def labels_around_waits(count):
    """Blocks of which every other one waits, each on a way around the next."""
    body = "".join(f"@%p bra L{i};\n" + (WAIT if i % 2 else READ) + f"L{i}:\n" for i in range(count))
    return HEAD + KERNEL + body + READ + END


def functions_in_a_chain(count):
    text = ".func f0(.param .b64 x)\n{\nret;\n}\n"
    text += "".join(CALLER.format(i, i - 1, 4 * (i % 8)) for i in range(1, count))
    return HEAD + text + KERNEL + CALL.format(count - 1) + WAIT + END


def functions_in_a_cycle(count):
    text = "".join(CALLER.format(i, (i + 1) % count, 4 * (i % 8)) for i in range(count))
    return HEAD + text + KERNEL + CALL.format(0) + WAIT + END


def functions_behind_a_pointer(count):
    """Functions whose addresses are taken, and as many calls through pointers."""
    names = ", ".join(f"f{i}" for i in range(count))
    text = "".join(
        f".func f{i}(.param .b64 x)\n{{\n{WAIT if i % 2 else ''}ret;\n}}\n" for i in range(count))
    text += f".global .align 8 .u64 table[{count}] = {{{names}}};\n"
    body = "".join(
        "ld.global.u64 %h, [table];\n{\n.param .b64 q;\nst.param.b64 [q], %ra;\n"
        f"P{i}: .callprototype ()_ (.param .b64 _);\ncall %h, (q), P{i};\n}}\n" for i in range(count))
    return HEAD + text + KERNEL + body + READ + WAIT + END


def functions_that_call_any(count):
    """Each takes its own address and calls through a pointer of that prototype: any of them."""
    text = "".join(
        f".func f{i}(.param .b64 x)\n{{\nld.param.u64 %rd1, [x];\nld.global.u32 %r1, [%rd1+{4 * i}];\n"
        f"setp.eq.u32 %p, %r1, 0;\n@%p ret;\nld.global.u64 %rd2, [%rd1];\nmov.u64 %rd3, f{i};\n.param .b64 q;\n"
        "st.param.b64 [q], %rd1;\nP: .callprototype ()_ (.param .b64 _);\ncall %rd2, (q), P;\nret;\n}\n"
        for i in range(count))
    return HEAD + text + KERNEL + ".param .b64 q;\nst.param.b64 [q], %ra;\ncall f0, (q);\n" + WAIT + END


def predicates(count):
    """Predicates that guard a read and are tested again."""
    body = "".join(
        f"setp.eq.u32 %p{i}, %n, {i};\n@%p{i} ld.global.u32 %r1, [%ra+{4 * (i % 8)}];\n" for i in range(count))
    body += WAIT + "".join(f"@!%p{i} bra L{i};\n{READ}L{i}:\n" for i in range(count))
    return HEAD + KERNEL + body + END


def predicates_of_predicates(count):
    """Each predicate is made of the one before it, and the last one decides."""
    body = "setp.lt.u32 %p0, %t, 32;\n" + "".join(
        f"setp.ne.u32 %q{i}, %n, {i};\nand.pred %p{i}, %p{i - 1}, %q{i};\n" for i in range(1, count))
    return HEAD + KERNEL + body + f"@%p{count - 1} bra L;\n{WAIT}L:\n{READ}{END}"


def flags(count):
    """Turns of `if (!waited) { wait; waited = true; }`, each with a flag of its own."""
    body = "".join(
        f"mov.u32 %f{i}, 0;\n@%p mov.u32 %f{i}, 1;\nsetp.ne.u32 %q{i}, %f{i}, 0;\n@%q{i} bra L{i};\n{WAIT}L{i}:\n"
        for i in range(count))
    return HEAD + KERNEL + body + READ + END


def frames(count):
    """A read that was inlined through so many places."""
    text = '.file 1 "a.cu"\n' + KERNEL + ".loc 1 1 1\nmov.u32 %r0, 0;\n" + "".join(
        f".loc 1 {i + 1} 1, function_name L, inlined_at 1 {i} 1\n{READ}" for i in range(1, count))
    return HEAD + text + WAIT + END


def switch_targets(count):
    text = "ts: .branchtargets " + ",".join(f"L{i}" for i in range(count)) + ";\nbrx.idx %t, ts;\n"
    text += "".join(f"L{i}:\n" + (WAIT if i % 2 else "") + "bra.uni E;\n" for i in range(count))
    return HEAD + KERNEL + text + "E:\n" + READ + END


def barriers(count):
    """Named barriers in turn, which some arrive at and others wait for."""
    body = "@%p bra A;\n" + "".join(f"bar.sync {i % 15 + 1}, 64;\n" for i in range(count)) + READ + "bra.uni E;\nA:\n"
    body += WAIT + "".join(f"bar.arrive {i % 15 + 1}, 64;\n" for i in range(count)) + "E:\n"
    return HEAD + KERNEL + body + END


def mbarriers(count):
    """mbarriers in shared memory, each arrived at by one who waited and awaited by the others."""
    text = f".shared .align 8 .b64 full[{count}];\n" + KERNEL + "@%p bra A;\n" + "".join(
        f"W{i}:\nmbarrier.try_wait.parity.shared.b64 %q{i}, [full+{8 * i}], 0;\n@!%q{i} bra W{i};\n{READ}"
        for i in range(count))
    text += "bra.uni E;\nA:\n" + WAIT + "".join(
        f"mbarrier.arrive.shared.b64 _, [full+{8 * i}];\n" for i in range(count)) + "E:\n"
    return HEAD + text + END


def tables_of_functions(count):
    """As many tables of two functions, and a call through each."""
    text = f".func w(.param .b64 x)\n{{\n{WAIT}ret;\n}}\n.func v(.param .b64 x)\n{{\nret;\n}}\n"
    text += "".join(f".global .align 8 .u64 t{i}[2] = {{w, {'v' if i % 2 else 'w'}}};\n" for i in range(count))
    body = "".join(
        f"mov.u64 %a{i}, t{i};\nld.global.u64 %h{i}, [%a{i}+8];\n{{\n.param .b64 q;\nst.param.b64 [q], %ra;\n"
        f"P{i}: .callprototype ()_ (.param .b64 _);\ncall %h{i}, (q), P{i};\n}}\n" for i in range(count))
    return HEAD + text + KERNEL + body + READ + WAIT + END


def copies(count):
    """A value that is copied on and on, and compared at the end."""
    body = "mov.u32 %c0, %t;\n" + "".join(f"mov.u32 %c{i}, %c{i - 1};\n" for i in range(1, count))
    return HEAD + KERNEL + body + f"setp.lt.u32 %q, %c{count - 1}, 32;\n@!%q bra L;\n{WAIT}L:\n@%q {READ}{END}"


def mbarriers_in_a_ring(count):
    """Stages of which each is awaited by a thread that then arrives at the next."""
    text = f".shared .align 8 .b64 full[{count + 1}];\n" + KERNEL
    text += f"@!%p bra A;\n{WAIT}mbarrier.arrive.shared.b64 _, [full];\nbra.uni E;\nA:\n" + "".join(
        f"setp.ne.u32 %s{i}, %t, {i + 1};\n@%s{i} bra S{i};\n"
        f"W{i}:\nmbarrier.try_wait.parity.shared.b64 %q{i}, [full+{8 * i}], 0;\n@!%q{i} bra W{i};\n"
        f"mbarrier.arrive.shared.b64 _, [full+{8 * i + 8}];\nS{i}:\n" for i in range(count))
    return HEAD + text + READ + "E:\n" + END


def branches_in_branches(count):
    """Ways around a wait, each around the next one; they meet one by one."""
    body = "".join(f"setp.eq.u32 %q{i}, %t, {i};\n@%q{i} bra L{i};\n" for i in range(count)) + WAIT
    return HEAD + KERNEL + body + "".join(f"L{i}:\nadd.u32 %r1, %r1, 1;\n" for i in reversed(range(count))) + READ + END


def branches_around_waits(count):
    """One predicate, set anew for each, and a barrier behind each."""
    body = "".join(f"setp.eq.u32 %q, %t, {i};\n@%q bra L{i};\n{WAIT}L{i}:\nbar.sync 0;\n" for i in range(count))
    return HEAD + KERNEL + body + READ + END


def branches_before_a_wait(count):
    body = "".join(f"setp.eq.u32 %q{i}, %n, {i};\n@%q{i} bra L{i};\nadd.u32 %r1, %r1, 1;\nL{i}:\n" for i in range(count))
    return HEAD + KERNEL + body + f"@%p bra E;\n{WAIT}E:\nbar.sync 0;\n" + READ + END


def branches(count):
    body = "".join(f"@%p bra L{i};\nadd.u32 %r1, %r1, 1;\nL{i}:\n" for i in range(count))
    return HEAD + KERNEL + body + READ + END


def loops_in_loops(count):
    """Loops that end one by one, with a way around a wait in the innermost."""
    body = "".join(f"L{i}:\nadd.u32 %r1, %r1, 1;\n" for i in range(count)) + "AROUND"
    body += "".join(f"setp.eq.u32 %q{i}, %n, {i};\n@%q{i} bra L{i};\n" for i in reversed(range(count)))
    return HEAD + KERNEL + body + READ + END


def loops_with_a_wait(count):
    return loops_in_loops(count).replace("AROUND", f"@%p bra E;\n{WAIT}E:\nbar.sync 0;\n")


def loops(count):
    return loops_in_loops(count).replace("AROUND", "")


def jumps_back(count):
    body = "".join(f"L{i}:\n@%p bra L{max(0, i - 2)};\nadd.u32 %r1, %r1, 1;\n" for i in range(count))
    return HEAD + KERNEL + body + READ + END


def exits(count):
    return HEAD + KERNEL + f"@%p bra E;\nadd.u32 %r1, %r1, 1;\n" * count + READ + "E:\n" + END


def labels_without_a_wait(count):
    return labels(count).replace(WAIT, "")


# For `pdltool instrument`.
UNWAITED = (branches, loops, jumps_back, exits, labels_without_a_wait)

SHAPES = (labels, labels_around_waits, branches_in_branches, branches_around_waits, branches_before_a_wait,
          loops_with_a_wait, functions_in_a_chain, functions_in_a_cycle, functions_behind_a_pointer,
          predicates, predicates_of_predicates, copies, flags, frames, switch_targets, barriers, mbarriers,
          mbarriers_in_a_ring, tables_of_functions, functions_that_call_any)
